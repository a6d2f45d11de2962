// Makes values fit to be shown and kept: secrets replaced, media stored as assets.
import type { Assets } from '../assets/assets.ts'
import { mediaByReference } from '../assets/media.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { mediaDescribed } from './provenance.ts'
import type { PublishedPlace, Publisher, StoredValue } from './publication.ts'
import type { Extra } from './writer.ts'

/** Encoded media of at most so many characters stays inline; bytes never do. */
export const LARGEST_INLINE = 16_384

export function publisherWith(redactor: Redactor, assets: Assets): Publisher {
  return {
    redact: (value) => redactor.value(value),
    provenance: (params) =>
      redactor.value(mediaDescribed(params, LARGEST_INLINE), { names: true }) as Record<string, unknown>,
    store: (value, place) => withMediaStored(redactor, assets, value, place),
  }
}

function withMediaStored(
  redactor: Redactor,
  assets: Assets,
  value: unknown,
  { row, node_id, output_name, ordinal }: PublishedPlace,
): StoredValue {
  const extras: Extra[] = []
  const stored = mediaByReference(value, {
    largest_inline: LARGEST_INLINE,
    persist(bytes, content_type, path, name) {
      const place = { job_key: row.key, output_name, ordinal, path: [...path] }
      const shown = redactor.value({ content_type, name })
      const about = { ...shown, workflow_id: row.workflow_id, job_id: row.id, node_id, place }
      const prepared = assets.prepare(row, bytes, about)
      extras.push((tx) => assets.insert(tx, prepared))
      return prepared.reference
    },
  })
  return { ...stored, extras }
}
