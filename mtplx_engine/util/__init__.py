"""What any module may need: files, text formatting, system facts, child processes."""
