"""All that a user writes: sections, overrides, messages, schema, points and spaces."""
