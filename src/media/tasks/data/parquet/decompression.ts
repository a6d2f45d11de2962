// How pages of Parquet files are unpacked: each to the size that it says, which was held against bounds before. Node's own libraries stop there.
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

/** Of a page that holds nothing, as that of the names of an empty column, no library has to be asked: some take it for damaged. */
export const decompressors: Compressors = Object.fromEntries(
  Object.entries(codecs).map(([codec, unpack]) => [
    codec,
    (bytes: Uint8Array, length: number) => (length === 0 ? new Uint8Array() : unpack!(bytes, length)),
  ]),
)
