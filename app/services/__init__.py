"""Threads and processes of the window: engine link, tasks, helper processes, attachments."""
