// Makes values fit to be shown and kept: secrets replaced, media stored: as assets, or where the job is to leave none, as temporary files.
import { type Assets, referenceTo } from '../assets/assets.ts'
import { type MediaOptions, mediaByReference, mediaSteps } from '../assets/media.ts'
import type { TemporaryStore } from '../assets/temporary.ts'
import { NodeError } from '../engine/node-error.ts'
import { MOST_FILES } from '../most-files.ts'
import { RedactedItems } from '../redaction/items.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { RedactedStream } from '../redaction/stream.ts'
import type { Steps } from '../time-slices.ts'
import { mediaDescribed, mediaDescribedSteps } from './provenance.ts'
import type { PublishedPlace, Publisher, StoredValue } from './publication.ts'
import { optionsOf } from './stored-options.ts'
import type { Extra } from './writer.ts'

/** Encoded media of at most so many characters stays inline; bytes never do. */
export const LARGEST_INLINE = 16_384

export interface Stores {
  readonly assets: Assets
  readonly temporary: TemporaryStore
}

export function publisherWith(redactor: Redactor, stores: Stores): Publisher {
  return {
    redact: (value) => redactor.value(value),
    redactMessage: (text) => redactor.message(text),
    redactSteps: (value) => redactor.valueSteps(value),
    texts: () => new RedactedItems(redactor),
    textStream: () => new RedactedStream(redactor),
    provenance: (params) =>
      redactor.value(mediaDescribed(params, LARGEST_INLINE), { names: true }) as Record<string, unknown>,
    *provenanceSteps(params): Steps<Record<string, unknown>> {
      const described = yield* mediaDescribedSteps(params, LARGEST_INLINE)
      return (yield* redactor.valueSteps(described, { names: true })) as Record<string, unknown>
    },
    store(value, place) {
      const { options, extras } = storing(redactor, stores, place)
      return { ...mediaByReference(value, options), extras }
    },
    *storeSteps(value, place): Steps<StoredValue> {
      const { options, extras } = storing(redactor, stores, place)
      return { ...(yield* mediaSteps(value, options)), extras }
    },
  }
}

/** How the media of a value is stored, and what is to be written with it. They throw where the value has too many files. */
function storing(
  redactor: Redactor,
  { assets, temporary }: Stores,
  { row, node_id, output_name, ordinal }: PublishedPlace,
): { options: MediaOptions; extras: readonly Extra[] } {
  const extras: Extra[] = []
  let files = 0
  const countFile = () => {
    if (++files > MOST_FILES) throw new NodeError('A value has too many files.', 'too_large')
  }
  const options: MediaOptions = {
    largest_inline: LARGEST_INLINE,
    persist(bytes, content_type, path, name) {
      countFile()
      const place = { job_key: row.key, output_name, ordinal, path: [...path] }
      const shown = redactor.value({ content_type, name })
      if (optionsOf(row).asset_persistence === 'temporary') return temporary.keep(row, bytes, place, shown)
      const about = { ...shown, workflow_id: row.workflow_id, job_id: row.id, node_id, place }
      const prepared = assets.prepare(row, bytes, about)
      extras.push((tx) => assets.insert(tx, prepared))
      return prepared.reference
    },
    known(asset_id, uri) {
      const asset = assets.findById(row, asset_id)
      const reference = asset && referenceTo(asset)
      if (reference?.uri !== uri) return null
      countFile()
      return { ...reference, name: redactor.value(reference.name) }
    },
  }
  return { options, extras }
}
