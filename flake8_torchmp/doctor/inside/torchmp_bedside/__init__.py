"""What runs in the patient's processes. It needs the standard library and the patient's torch, not flake8_torchmp."""
