// asset.*: files of whoever runs the workflow. Where they are and who may read them is the business of the host.
import { NodeError, type NodeFacts, type NodeNeed, type NodeType } from '../engine/node-type.ts'
import { whileHeld } from '../engine/while-held.ts'
import type { Steps } from '../time-slices.ts'
import { option, output, required } from './define.ts'
import { loaded } from './holding.ts'
import { guardText } from './limits.ts'

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
      'Reads a file: an asset, a temporary upload, or one that comes with the service. Gives its bytes, and its text where it is one: in the charset that its content type names, else UTF-8. A file of another type, or one that is not well-formed in that charset, has the text null.',
    properties: [
      required(
        'asset',
        'any',
        'An address, asset://<id>, /api/storage/<key> or /api/assets/packages/<path>, or an object that has one as its uri, or an asset_id.',
      ),
      option('max_bytes', 'int', 'The largest file that is read, in bytes.', {
        default: 10 * MEGABYTE,
        min: 1,
        max: 100 * MEGABYTE,
      }),
    ],
    outputs: [output('bytes', 'any'), output('text', 'any')],
    needs: needsOf,
    async run(inputs, context) {
      const { asset, max_bytes } = inputs as unknown as LoadInputs
      const reference = referenceOf(asset)
      if (reference === null)
        throw new NodeError('The asset is neither an address nor an object with a uri or an asset_id.', 'bad_reference')
      const { bytes, content_type } = await loaded(reference, max_bytes, context)
      const reading = () => context.inSlices(textOf(bytes, content_type))
      return { bytes, text: await whileHeld(bytes.length, context, reading) }
    },
  },
]

/** A value that refers to nothing is an asset that nobody has. That there is none at all is told of the property. */
function needsOf({ data, isConnected }: NodeFacts): NodeNeed[] {
  const { asset } = data
  if (isConnected('asset') || asset === null || asset === undefined) return []
  return [{ kind: 'asset', reference: referenceOf(asset) ?? '' }]
}

/** What a value refers to: a text itself, of a record its `uri`, else its `asset_id`. */
export function referenceOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return null
  const { uri, asset_id } = value as Record<string, unknown>
  if (typeof uri === 'string') return uri
  return typeof asset_id === 'string' ? `asset://${asset_id.replace(/^asset:\/\//, '')}` : null
}

/** Types of content that is written as text, besides `text/*`. */
const WRITTEN =
  /^(?:text\/.+|(?:application|image|model)\/(?:.+\+)?(?:json|xml|yaml|x-yaml|javascript|x-ndjson|toml|sql))$/i

function* textOf(bytes: Uint8Array, content_type: string): Steps<string | null> {
  const [essence, ...parameters] = content_type.split(';')
  if (!WRITTEN.test(essence!.trim())) return null
  const charset = parameters
    .map((one) => /^\s*charset="?([^"]+?)"?\s*$/i.exec(one)?.[1])
    .find((one) => one !== undefined)
  guardText(bytes.length / LONGEST_CHARACTER)
  const text = yield* decoded(bytes, charset ?? 'utf-8')
  if (text !== null) guardText(text.length)
  return text
}

/** In bytes, in any charset. */
const LONGEST_CHARACTER = 4

/** Bytes that are decoded at once. */
const PIECE = 65_536

function* decoded(bytes: Uint8Array, charset: string): Steps<string | null> {
  try {
    const decoder = new TextDecoder(charset, { fatal: true })
    const pieces: string[] = []
    for (let at = 0; at < bytes.length; at += PIECE) {
      pieces.push(decoder.decode(bytes.subarray(at, at + PIECE), { stream: true }))
      yield
    }
    return pieces.join('') + decoder.decode()
  } catch {
    // No charset of that name, or bytes that are none of its characters.
    return null
  }
}
