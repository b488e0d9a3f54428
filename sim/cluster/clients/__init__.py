"""Clients: what makes each request of a trace leave, and when.

A client is callbacks on events, one event a request. Every request is sent in the arrival phase of its
instant, at equal times in trace order.
"""
