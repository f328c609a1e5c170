"""Traces and metrics of a command, where OTEL_* asks for them: wanted.py, recording.py, otlp.py."""
