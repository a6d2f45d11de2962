// asset.Load: reads a file of the user who runs the workflow. The host decides where files are and who may read them.

import { withHeldMemory } from '../engine/node-api/held-memory.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeFacts, NodeNeed } from '../engine/node-api/node-facts.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import type { Steps } from '../shared/time-slices.ts'
import { loadAsset } from './shared/asset-loader.ts'
import { optionalProperty, requiredProperty, valueOutput } from './shared/node-type-builders.ts'
import { guardTextLength } from './shared/value-limits.ts'

const MEGABYTE = 1_000_000

interface LoadInputs {
  asset: unknown
  max_bytes: number
}

export const assetNodes: NodeType[] = [
  {
    node_type: 'asset.Load',
    title: 'Load asset',
    description:
      'Reads a file: an asset, a temporary upload, or one that comes with the service. Gives its bytes, and its text if it is a text file. The charset is that of its content type, else UTF-8. For other files, and for bytes that are invalid in the charset, the text is null.',
    properties: [
      requiredProperty(
        'asset',
        'any',
        'A URL: asset://<id>, /api/storage/<key> or /api/assets/packages/<path>; or an object with such a URL as its uri, or with an asset_id.',
      ),
      optionalProperty('max_bytes', 'int', 'The largest file that is read, in bytes.', {
        default: 10 * MEGABYTE,
        min: 1,
        max: 100 * MEGABYTE,
      }),
    ],
    outputs: [valueOutput('bytes', 'any'), valueOutput('text', 'any')],
    needs: listAssetNeeds,
    async run(inputs, context) {
      const { asset, max_bytes } = inputs as unknown as LoadInputs
      const reference = readFileReference(asset)
      if (reference === null)
        throw new NodeError('The asset is neither a URL nor an object with a uri or an asset_id.', 'bad_reference')
      const { bytes, content_type } = await loadAsset(reference, max_bytes, context)
      const reading = () => context.inSlices(decodeIfText(bytes, content_type))
      return { bytes, text: await withHeldMemory(bytes.length, context, reading) }
    },
  },
]

/** A value that names no file counts as an asset that does not exist. A missing value is a problem of the property. */
function listAssetNeeds({ data, isConnected }: NodeFacts): NodeNeed[] {
  const { asset } = data
  if (isConnected('asset') || asset === null || asset === undefined) return []
  return [{ kind: 'asset', reference: readFileReference(asset) ?? '' }]
}

/** The reference in a value: a string itself, or an object's `uri`, else its `asset_id`. */
export function readFileReference(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return null
  const { uri, asset_id } = value as Record<string, unknown>
  if (typeof uri === 'string') return uri
  return typeof asset_id === 'string' ? `asset://${asset_id.replace(/^asset:\/\//, '')}` : null
}

/** Content types of text besides `text/*`. */
const TEXT_CONTENT_TYPE =
  /^(?:text\/.+|(?:application|image|model)\/(?:.+\+)?(?:json|xml|yaml|x-yaml|javascript|x-ndjson|toml|sql))$/i

function* decodeIfText(bytes: Uint8Array, content_type: string): Steps<string | null> {
  const [essence, ...parameters] = content_type.split(';')
  if (!TEXT_CONTENT_TYPE.test(essence!.trim())) return null
  const charset = parameters
    .map((one) => /^\s*charset="?([^"]+?)"?\s*$/i.exec(one)?.[1])
    .find((one) => one !== undefined)
  guardTextLength(bytes.length / LONGEST_CHARACTER_BYTES)
  const text = yield* decodeSteps(bytes, charset ?? 'utf-8')
  if (text !== null) guardTextLength(text.length)
  return text
}

/** In bytes, in any charset. */
const LONGEST_CHARACTER_BYTES = 4

/** Bytes that are decoded per step. */
const DECODED_AT_ONCE = 65_536

function* decodeSteps(bytes: Uint8Array, charset: string): Steps<string | null> {
  try {
    const decoder = new TextDecoder(charset, { fatal: true })
    const pieces: string[] = []
    for (let at = 0; at < bytes.length; at += DECODED_AT_ONCE) {
      pieces.push(decoder.decode(bytes.subarray(at, at + DECODED_AT_ONCE), { stream: true }))
      yield
    }
    return pieces.join('') + decoder.decode()
  } catch {
    // The charset is unknown, or the bytes are not valid in it.
    return null
  }
}
