"""An engine that keeps the indexes of archives in an OpenSearch cluster, where several processes share them."""
