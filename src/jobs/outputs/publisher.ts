// Creates the publisher of output values: it replaces secrets, and stores media as assets, or as temporary files where the job asks for that.
import { type AssetStore, toAssetReference } from '../../assets/asset-store.ts'
import { extractMedia, extractMediaSteps, type MediaExtractionOptions } from '../../assets/media-extraction.ts'
import type { TemporaryStore } from '../../assets/temporary/store.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import { RedactedItems } from '../../redaction/streams/redacted-items.ts'
import { RedactedStream } from '../../redaction/streams/redacted-stream.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { MAX_FILES_PER_VALUE } from '../../shared/value-limits.ts'
import type { AdditionalWrite } from '../commit/commit-range.ts'
import { parseStoredOptions } from '../submission/stored-options.ts'
import { describeMedia, describeMediaSteps } from './input-provenance.ts'
import type { OutputPublisher, OutputValuePosition, StoredOutputValue } from './publication.ts'

/** Encoded media of at most this many characters stays inline. Byte values are always stored. */
export const MAX_INLINE_MEDIA_CHARACTERS = 16_384

export interface MediaStores {
  readonly assets: AssetStore
  readonly temporary: TemporaryStore
}

export function createOutputPublisher(redactor: Redactor, stores: MediaStores): OutputPublisher {
  return {
    redact: (value) => redactor.value(value),
    redactMessage: (text) => redactor.message(text),
    redactSteps: (value) => redactor.valueSteps(value),
    texts: () => new RedactedItems(redactor),
    textStream: () => new RedactedStream(redactor),
    provenance: (params) =>
      redactor.value(describeMedia(params, MAX_INLINE_MEDIA_CHARACTERS), { names: true }) as Record<string, unknown>,
    *provenanceSteps(params): Steps<Record<string, unknown>> {
      const described = yield* describeMediaSteps(params, MAX_INLINE_MEDIA_CHARACTERS)
      return (yield* redactor.valueSteps(described, { names: true })) as Record<string, unknown>
    },
    store(value, place) {
      const { options, extras } = createMediaOptions(redactor, stores, place)
      return { ...extractMedia(value, options), extras }
    },
    *storeSteps(value, place): Steps<StoredOutputValue> {
      const { options, extras } = createMediaOptions(redactor, stores, place)
      return { ...(yield* extractMediaSteps(value, options)), extras }
    },
  }
}

/** The options for storing the media of a value, and the rows to write with it. @throws NodeError `too_large` from the callbacks, for too many files */
function createMediaOptions(
  redactor: Redactor,
  { assets, temporary }: MediaStores,
  { row, node_id, output_name, ordinal }: OutputValuePosition,
): { options: MediaExtractionOptions; extras: readonly AdditionalWrite[] } {
  const extras: AdditionalWrite[] = []
  let files = 0
  const countFile = () => {
    if (++files > MAX_FILES_PER_VALUE) throw new NodeError('A value has too many files.', 'too_large')
  }
  const options: MediaExtractionOptions = {
    largest_inline: MAX_INLINE_MEDIA_CHARACTERS,
    persist(bytes, content_type, path, name) {
      countFile()
      const place = { job_key: row.key, output_name, ordinal, path: [...path] }
      const shown = redactor.value({ content_type, name })
      if (parseStoredOptions(row).asset_persistence === 'temporary')
        return temporary.putOutput(row, bytes, place, shown)
      const about = { ...shown, workflow_id: row.workflow_id, job_id: row.id, node_id, place }
      const prepared = assets.prepare(row, bytes, about)
      extras.push((tx) => assets.insert(tx, prepared))
      return prepared.reference
    },
    known(asset_id, uri) {
      const asset = assets.findById(row, asset_id)
      const reference = asset && toAssetReference(asset)
      if (reference?.uri !== uri) return null
      countFile()
      return { ...reference, name: redactor.value(reference.name) }
    },
  }
  return { options, extras }
}
