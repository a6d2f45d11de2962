// Parameters as a job's provenance shows them: what is large is told by its size and digest, never repeated.
import type { AssetReference } from '../../generated/types.ts'
import { contentTypeOf } from '../assets/content-type.ts'
import { digestOf } from '../assets/keys.ts'
import { type FoundMedia, type MediaOptions, mediaByReference, mediaSteps } from '../assets/media.ts'
import { textHashSteps } from '../hashes.ts'
import { textSteps } from '../json-steps.ts'
import { setMember } from '../members.ts'
import type { Steps } from '../time-slices.ts'

/** A copy in which media of more than `largest_inline` characters, and bytes, are `{type, content_type, size, sha256}`. */
export function mediaDescribed(value: unknown, largest_inline: number): unknown {
  return withoutAddresses(mediaByReference(value, describing(largest_inline)))
}

/** As `mediaDescribed`, in steps. */
export function* mediaDescribedSteps(value: unknown, largest_inline: number): Steps<unknown> {
  return withoutAddresses(yield* mediaSteps(value, describing(largest_inline)))
}

/** How many bytes of JSON the inputs may have together that are told whole: with the outputs they are one row, which is written and read at once. */
const MOST_INPUTS = 1_000_000

/** The inputs that are told whole, in their order, as many as fit; the others are `{type, content_type, size, sha256}` of their JSON texts. */
export function* largeDescribedSteps(inputs: Readonly<Record<string, unknown>>): Steps<Record<string, unknown>> {
  const shown: Record<string, unknown> = {}
  let bytes = 0
  for (const [name, value] of Object.entries(inputs)) {
    const text = yield* textSteps(value)
    const size = Buffer.byteLength(text)
    const isWhole = bytes + size <= MOST_INPUTS
    if (isWhole) bytes += size
    setMember(shown, name, isWhole ? value : { ...JSON_TEXT, size, sha256: yield* textHashSteps(text) })
  }
  return shown
}

const JSON_TEXT = { type: 'document', content_type: 'application/json' }

function describing(largest_inline: number): MediaOptions {
  return {
    largest_inline,
    persist: (bytes, claimed) => ({
      ...NOT_STORED,
      content_type: contentTypeOf(bytes, claimed),
      size: bytes.length,
      sha256: digestOf(bytes),
    }),
  }
}

function withoutAddresses({ value, found }: { value: unknown; found: readonly FoundMedia[] }): unknown {
  for (const { path } of found) forgetAddress(value, path)
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

/** What stands at the path is an object of the copy. */
function forgetAddress(value: unknown, path: readonly (string | number)[]): void {
  const place = path.reduce(
    (at, key) => (at as Record<string | number, unknown>)[key],
    value,
  ) as Partial<AssetReference>
  delete place.asset_id
  delete place.uri
}
