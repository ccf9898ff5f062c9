"""Networks: tensors in, tensors out; one file a network. Torch is imported with the network that is used."""
