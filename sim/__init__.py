"""A discrete-event simulator of KV-aware routing for LLM serving: vLLM behind NVIDIA Dynamo."""
