"""The vocabulary of the integration tests.

postgres   throw-away clusters, databases, slots          load       four writers with a known truth
kafka      throw-away brokers, topics, a plain reader     verifier   committed against delivered
relay      the walpost process under test                 envelope   what is inside a record's value

Nothing here shares code with the product: the reader is a plain client, the envelope is parsed by
another protobuf implementation, and the truth is the table itself.
"""
