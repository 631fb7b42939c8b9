"""Networks as graphs of operations that other programs run: ONNX and torch.export."""
