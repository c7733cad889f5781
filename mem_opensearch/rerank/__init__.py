"""The second stage: score a wide pool of memories again, by something that reads question and memory together."""
