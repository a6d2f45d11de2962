// Decompresses the pages of Parquet files, each to its stated size, which was checked before. Node's own libraries stop at that size.
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Compressors } from 'hyparquet'
import { decompressLz4, decompressLz4Raw, decompressSnappy } from 'hyparquet-compressors'

const outputLimit = (length: number) => ({ maxOutputLength: Math.max(1, length) })

const codecs: Compressors = {
  SNAPPY: decompressSnappy,
  LZ4: decompressLz4,
  LZ4_RAW: decompressLz4Raw,
  GZIP: (bytes, length) => gunzipSync(bytes, outputLimit(length)),
  BROTLI: (bytes, length) => brotliDecompressSync(bytes, outputLimit(length)),
  ZSTD: (bytes, length) => zstdDecompressSync(bytes, outputLimit(length)),
}

/** An empty page, as of an empty dictionary, goes to no library, since some would take it for damaged. */
export const decompressors: Compressors = Object.fromEntries(
  Object.entries(codecs).map(([codec, unpack]) => [
    codec,
    (bytes: Uint8Array, length: number) => (length === 0 ? new Uint8Array() : unpack!(bytes, length)),
  ]),
)
