"""What callers ask of the gateway, each call under a principal: streams, intents, effect tables, doubts."""
