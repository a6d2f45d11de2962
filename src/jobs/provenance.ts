// Parameters as a job's provenance shows them: large media is told by its size and digest, never repeated.
import type { AssetReference } from '../../generated/types.ts'
import { contentTypeOf } from '../assets/content-type.ts'
import { digestOf } from '../assets/keys.ts'
import { mediaByReference } from '../assets/media.ts'

/** A copy in which media of more than `largest_inline` characters, and bytes, are `{type, content_type, size, sha256}`. */
export function mediaDescribed(value: unknown, largest_inline: number): unknown {
  const described = mediaByReference(value, {
    largest_inline,
    persist: (bytes, claimed) => ({
      ...NOT_STORED,
      content_type: contentTypeOf(bytes, claimed),
      size: bytes.length,
      sha256: digestOf(bytes),
    }),
  })
  for (const { path } of described.found) forgetAddress(described.value, path)
  return described.value
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
