"""The engine, the features and their leaves. Start with types, ports and chatbot."""
