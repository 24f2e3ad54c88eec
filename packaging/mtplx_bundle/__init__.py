"""Put MTPLX.app together and check it."""
