// Files as nodes take and give them: by bytes, by an address, or as a media value that has either; and the work on them that is done apart.
import { type NodeContext, NodeError, type NodeFacts, type NodeNeed, type NodeType } from '../engine/node-type.ts'
import type { MediaResult } from '../engine/services.ts'
import { whileHeld } from '../engine/while-held.ts'
import { referenceOf } from './asset.ts'
import { loaded } from './holding.ts'

/** In bytes: of one file that a node works on, and of all of one firing. */
export const LARGEST_FILE = 100_000_000
export const MOST_FILES = 100

export interface TakenFile {
  readonly bytes: Uint8Array
  /** What is known of its type, or null. */
  readonly content_type: string | null
  readonly name: string | null
}

/**
 * The bytes of a value: bytes as they are, an object with bytes as its `data`, or whatever refers to an asset or a temporary file. `what` begins
 * messages: "The image".
 * @throws NodeError `bad_input`, `too_large`, `asset_not_found`, `bad_reference`
 */
export async function fileOf(value: unknown, what: string, context: NodeContext): Promise<TakenFile> {
  const given = bytesOf(value)
  if (given) {
    if (given.bytes.length > LARGEST_FILE) throw tooLarge(what)
    return given
  }
  const reference = referenceOf(value)
  if (reference !== null) return loaded(reference, LARGEST_FILE, context)
  throw new NodeError(
    `${what} is neither bytes nor the address of a file (asset://<id>, /api/storage/<key>, /api/assets/packages/<path>).`,
    'bad_input',
  )
}

/** Takes the file of a property, for a node type whose work follows from that alone. @throws NodeError as `fileOf` does */
export function taking(property: string, what: string): NonNullable<NodeType['prepare']> {
  return async (inputs, context) => ({ ...inputs, [property]: await fileOf(inputs[property], what, context) })
}

/** As `fileOf`, of all values of a list, in their order. */
export async function filesOf(values: readonly unknown[], what: string, context: NodeContext): Promise<TakenFile[]> {
  if (values.length > MOST_FILES) throw new NodeError(`There are more than ${MOST_FILES} files.`, 'too_large')
  const taken: TakenFile[] = []
  let bytes = 0
  for (const [index, value] of values.entries()) {
    const file = await whileHeld(bytes, context, () => fileOf(value, `${what} ${index + 1}`, context))
    bytes += file.bytes.length
    if (bytes > LARGEST_FILE) throw tooLarge('All files together')
    taken.push(file)
  }
  return taken
}

function tooLarge(what: string): NodeError {
  return new NodeError(`${what} has more than ${LARGEST_FILE.toLocaleString('en')} bytes.`, 'too_large')
}

function bytesOf(value: unknown): TakenFile | null {
  if (value instanceof Uint8Array) return { bytes: value, content_type: null, name: null }
  if (typeof value !== 'object' || value === null) return null
  const { data, content_type, name } = value as Record<string, unknown>
  if (!(data instanceof Uint8Array)) return null
  return { bytes: data, content_type: textOrNull(content_type), name: textOrNull(name) }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Work on files in a process of its own. @throws NodeError as `MediaAccess.run` does */
export function worked(
  task: string,
  files: readonly TakenFile[],
  params: Record<string, unknown>,
  context: NodeContext,
): Promise<MediaResult> {
  const { services, run, signal } = context
  const { media, owner } = services
  const given = files.map(({ bytes }) => bytes)
  const length = given.reduce((sum, bytes) => sum + bytes.length, 0)
  return whileHeld(length, context, () => media.run({ task, files: given, params, owner, run, signal }))
}

/** The assets among a node's own values of these properties, which may be lists of them: of a longer one than any firing takes, the first. */
export function fileNeeds(...properties: readonly string[]): (facts: NodeFacts) => NodeNeed[] {
  return ({ data, isConnected }) =>
    properties.flatMap((property) => {
      const value = data[property]
      if (isConnected(property) || value === null || value === undefined || bytesOf(value)) return []
      return (Array.isArray(value) ? value.slice(0, MOST_FILES) : [value]).map(
        (one): NodeNeed => ({ kind: 'asset', reference: referenceOf(one) ?? '' }),
      )
    })
}

/** A name with another ending, such as `photo.png` for `photo.jpg`; null stays null. */
export function renamed(name: string | null, extension: string): string | null {
  return name === null ? null : `${name.replace(/\.[A-Za-z0-9]{1,8}$/, '')}.${extension}`
}
