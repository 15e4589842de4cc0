"""What a command does, from path to path."""
