"""Models from transformers; the only place that imports torch. Import what you need from the modules, late.

``import transformers`` takes seconds: nothing else of the product may import these modules at start-up.
"""
