"""Renders markdown into a QTextDocument, incrementally while a model streams it.

The way of a message: `markdown` parses text into the blocks of `blocks`; `document` writes blocks, changing only what
differs, with `style` for the formats and `code_block`, `table` and `math` for what is more than text; `layout` answers
where the blocks ended up, and `decoration` paints what Qt cannot: panels, bars, list markers, highlights. `export` and
`source_map` lead back, from a selection to leaves and from ranges of the source to ranges of the document.

While a message streams, `markdown_stream` splits it into a frozen head, which is parsed and written once, and a live
tail. So a piece costs the same however long the message is, and nothing above the tail ever moves.
"""
