// How pages of Parquet files are unpacked: each to the size that it says, which was held against bounds before. Node's own libraries stop there.
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Compressors } from 'hyparquet'
import { decompressLz4, decompressLz4Raw, decompressSnappy } from 'hyparquet-compressors'

const within = (length: number) => ({ maxOutputLength: Math.max(1, length) })

const libraries: Compressors = {
  SNAPPY: decompressSnappy,
  LZ4: decompressLz4,
  LZ4_RAW: decompressLz4Raw,
  GZIP: (bytes, length) => gunzipSync(bytes, within(length)),
  BROTLI: (bytes, length) => brotliDecompressSync(bytes, within(length)),
  ZSTD: (bytes, length) => zstdDecompressSync(bytes, within(length)),
}

/** Of a page that holds nothing, as that of the names of an empty column, no library has to be asked: some take it for damaged. */
export const compressors: Compressors = Object.fromEntries(
  Object.entries(libraries).map(([codec, unpack]) => [
    codec,
    (bytes: Uint8Array, length: number) => (length === 0 ? new Uint8Array() : unpack!(bytes, length)),
  ]),
)
