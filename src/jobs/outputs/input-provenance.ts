// Describes parameters for a job's provenance. Large values are shown by size and digest, and are not repeated.
import type { AssetReference } from '../../../generated/types.ts'
import { detectContentType } from '../../assets/content-type.ts'
import {
  type ExtractedMedia,
  extractMedia,
  extractMediaSteps,
  type MediaExtractionOptions,
} from '../../assets/media-extraction.ts'
import { sha256OfBytes } from '../../assets/storage-keys.ts'
import { textHashSteps } from '../../shared/hashes.ts'
import { stringifyWithBase64Steps } from '../../shared/incremental-json.ts'
import { setOwnProperty } from '../../shared/own-property.ts'
import type { Steps } from '../../shared/time-slices.ts'

/** Returns a copy in which media of more than `largest_inline` characters, or bytes, are `{type, content_type, size, sha256}`. */
export function describeMedia(value: unknown, largest_inline: number): unknown {
  return removeAssetLinks(extractMedia(value, createDescribeOptions(largest_inline)))
}

/** `describeMedia` in steps. */
export function* describeMediaSteps(value: unknown, largest_inline: number): Steps<unknown> {
  return removeAssetLinks(yield* extractMediaSteps(value, createDescribeOptions(largest_inline)))
}

/** Inputs shown in full have at most this many bytes of JSON together. They share one row with the outputs, which is written and read at once. */
const MOST_INPUTS = 1_000_000

/** Shows as many inputs in full as fit, in their order; the others become `{type, content_type, size, sha256}` of their JSON texts. */
export function* describeLargeInputsSteps(inputs: Readonly<Record<string, unknown>>): Steps<Record<string, unknown>> {
  const shown: Record<string, unknown> = {}
  let bytes = 0
  for (const [name, value] of Object.entries(inputs)) {
    const text = yield* stringifyWithBase64Steps(value)
    const size = Buffer.byteLength(text)
    const isWhole = bytes + size <= MOST_INPUTS
    if (isWhole) bytes += size
    setOwnProperty(shown, name, isWhole ? value : { ...JSON_TEXT, size, sha256: yield* textHashSteps(text) })
  }
  return shown
}

const JSON_TEXT = { type: 'document', content_type: 'application/json' }

function createDescribeOptions(largest_inline: number): MediaExtractionOptions {
  return {
    largest_inline,
    persist: (bytes, claimed) => ({
      ...NOT_STORED,
      content_type: detectContentType(bytes, claimed),
      size: bytes.length,
      sha256: sha256OfBytes(bytes),
    }),
  }
}

function removeAssetLinks({ value, found }: { value: unknown; found: readonly ExtractedMedia[] }): unknown {
  for (const { path } of found) removeAssetLink(value, path)
  return value
}

const NOT_STORED: AssetReference = {
  asset_id: '',
  uri: '',
  name: null,
  content_type: '',
  size: null,
  sha256: null,
  download_url: null,
  expires_at: null,
}

/** The object at the path belongs to the copy, so it may be changed. */
function removeAssetLink(value: unknown, path: readonly (string | number)[]): void {
  const place = path.reduce(
    (at, key) => (at as Record<string | number, unknown>)[key],
    value,
  ) as Partial<AssetReference>
  delete place.asset_id
  delete place.uri
}
