// Reads the files that nodes take: bytes, a URL, or a media value with either. Runs media tasks on files in a worker.

import { withHeldMemory } from '../../engine/node-api/held-memory.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeFacts, NodeNeed } from '../../engine/node-api/node-facts.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import type { MediaResult } from '../../engine/node-api/services/media.ts'
import { readFileReference } from '../asset-load-node.ts'
import { loadAsset } from './asset-loader.ts'

/** In bytes: the limit for one file, and for all files of one firing. */
export const LARGEST_INPUT_FILE = 100_000_000
export const MOST_INPUT_FILES = 100

export interface InputFile {
  readonly bytes: Uint8Array
  /** The known content type, or null. */
  readonly content_type: string | null
  readonly name: string | null
}

/**
 * Reads the bytes of a value: bytes, an object with bytes as its `data`, or a reference to an asset or a temporary file. `what` begins
 * messages: "The image". @throws NodeError `bad_input`, `too_large`, `asset_not_found`, `bad_reference`
 */
export async function readFileInput(value: unknown, what: string, context: NodeContext): Promise<InputFile> {
  const given = readInlineFile(value)
  if (given) {
    if (given.bytes.length > LARGEST_INPUT_FILE) throw tooLargeError(what)
    return given
  }
  const reference = readFileReference(value)
  if (reference !== null) return loadAsset(reference, LARGEST_INPUT_FILE, context)
  throw new NodeError(
    `${what} is neither bytes nor the URL of a file (asset://<id>, /api/storage/<key>, /api/assets/packages/<path>).`,
    'bad_input',
  )
}

/**
 * Reads the file of a property in `prepare`, for a node type whose work depends on the file alone. @throws NodeError as `readFileInput`
 * does
 */
export function prepareFileInput(property: string, what: string): NonNullable<NodeType['prepare']> {
  return async (inputs, context) => ({ ...inputs, [property]: await readFileInput(inputs[property], what, context) })
}

/** Reads all values of a list like `readFileInput`, in their order. */
export async function readFileInputs(
  values: readonly unknown[],
  what: string,
  context: NodeContext,
): Promise<InputFile[]> {
  if (values.length > MOST_INPUT_FILES)
    throw new NodeError(`There are more than ${MOST_INPUT_FILES} files.`, 'too_large')
  const taken: InputFile[] = []
  let bytes = 0
  for (const [index, value] of values.entries()) {
    const file = await withHeldMemory(bytes, context, () => readFileInput(value, `${what} ${index + 1}`, context))
    bytes += file.bytes.length
    if (bytes > LARGEST_INPUT_FILE) throw tooLargeError('All files together')
    taken.push(file)
  }
  return taken
}

function tooLargeError(what: string): NodeError {
  return new NodeError(`${what} has more than ${LARGEST_INPUT_FILE.toLocaleString('en')} bytes.`, 'too_large')
}

function readInlineFile(value: unknown): InputFile | null {
  if (value instanceof Uint8Array) return { bytes: value, content_type: null, name: null }
  if (typeof value !== 'object' || value === null) return null
  const { data, content_type, name } = value as Record<string, unknown>
  if (!(data instanceof Uint8Array)) return null
  return { bytes: data, content_type: textOrNull(content_type), name: textOrNull(name) }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Runs a task on files in a worker process. @throws NodeError as `MediaAccess.run` does */
export function runMediaTask(
  task: string,
  files: readonly InputFile[],
  params: Record<string, unknown>,
  context: NodeContext,
): Promise<MediaResult> {
  const { services, run, signal } = context
  const { media, owner } = services
  const given = files.map(({ bytes }) => bytes)
  const length = given.reduce((sum, bytes) => sum + bytes.length, 0)
  return withHeldMemory(length, context, () => media.run({ task, files: given, params, owner, run, signal }))
}

/**
 * The assets among a node's own values of these properties, which may be lists. Of a list that is longer than the limit of a firing, the
 * first ones count.
 */
export function createFileNeedsReader(...properties: readonly string[]): (facts: NodeFacts) => NodeNeed[] {
  return ({ data, isConnected }) =>
    properties.flatMap((property) => {
      const value = data[property]
      if (isConnected(property) || value === null || value === undefined || readInlineFile(value)) return []
      return (Array.isArray(value) ? value.slice(0, MOST_INPUT_FILES) : [value]).map(
        (one): NodeNeed => ({ kind: 'asset', reference: readFileReference(one) ?? '' }),
      )
    })
}

/** A name with another extension, such as `photo.png` for `photo.jpg`; null stays null. */
export function replaceExtension(name: string | null, extension: string): string | null {
  return name === null ? null : `${name.replace(/\.[A-Za-z0-9]{1,8}$/, '')}.${extension}`
}
