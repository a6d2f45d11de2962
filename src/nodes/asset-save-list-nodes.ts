// asset.Save and asset.List: files that the user who runs the workflow keeps, with names and in folders.

import type { OutputGenerator } from '../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../engine/node-api/node-context.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import type { AssetValue } from '../engine/node-api/services/assets.ts'
import { createFileNeedsReader, type InputFile, readFileInput } from './shared/file-inputs.ts'
import { optionalProperty, requiredProperty, streamOutput, valueOutput } from './shared/node-type-builders.ts'
import { guardTextLength } from './shared/value-limits.ts'

/** In assets. */
const LONGEST_LIST = 1_000

export interface AssetSaveInputs {
  data: unknown
  name: string
  content_type: string | null
  folder: string | null
}

async function runSave({ data, ...as }: AssetSaveInputs, context: NodeContext) {
  return { asset: await saveFileAsAsset(await toSavedFile(data, context), as, context) }
}

/** Saves a file as an asset of the user who runs the workflow. A repeated firing gives the same asset. */
export function saveFileAsAsset(
  file: InputFile,
  { name, content_type, folder }: Omit<AssetSaveInputs, 'data'>,
  context: NodeContext,
): Promise<AssetValue> {
  const { services, node_id } = context
  // A repeated firing draws the same numbers, which keep it from saving a second asset.
  const once = `${context.random()} ${context.random()}`
  const shown = (text: string | null) => text && services.redact(text)
  return services.assets.save({
    bytes: file.bytes,
    name: shown(name || file.name),
    content_type: shown(content_type ?? file.content_type),
    folder,
    node_id,
    dedupe_key: once,
  })
}

/** A string is a file of that text, even an empty string, which `readFileInput` would refuse. `readFileInput` reads other values. */
async function toSavedFile(data: unknown, context: NodeContext): Promise<InputFile> {
  if (typeof data === 'string') {
    guardTextLength(data.length)
    return { bytes: Buffer.from(context.services.redact(data)), content_type: 'text/plain; charset=utf-8', name: null }
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) throw noFileError()
  if (!(data instanceof Uint8Array) && !['data', 'uri', 'asset_id'].some((key) => Object.hasOwn(data, key)))
    throw noFileError()
  return readFileInput(data, 'The data', context)
}

function noFileError(): NodeError {
  const cure = 'Turn other values into text with json.Stringify.'
  return new NodeError(`The data is neither bytes nor a text nor a value that refers to a file. ${cure}`, 'bad_input')
}

interface AssetListInputs {
  folder: string | null
  content_type: string | null
  name: string
  limit: number
}

/** After an interruption, the assets that were not given yet follow those that were. */
async function* listAssets(
  { folder, content_type, name, limit }: AssetListInputs,
  context: NodeContext,
): OutputGenerator {
  const { services, signal, previousItems } = context
  const before = previousItems.map(({ asset }) => asset as AssetValue)
  const known = new Set(before.map(({ asset_id }) => asset_id))
  const found = await services.assets.list({ folder, content_type, name: name || null, limit }, signal)
  const rest = found.filter(({ asset_id }) => !known.has(asset_id)).slice(0, limit - before.length)
  for (const asset of rest) yield { asset }
  const assets = [...before, ...rest]
  return { assets, count: assets.length }
}

export const folderProperty = (what: string) => optionalProperty('folder', 'str?', `The id of the folder ${what}`)

export const assetSaveListNodes: NodeType[] = [
  {
    node_type: 'asset.Save',
    title: 'Save asset',
    description:
      'Saves a file as an asset of the user who runs the workflow, at once, even if the run fails later. A run that resumes after an interruption keeps the same asset. The output refers to the asset, and can be used wherever a file is expected.',
    properties: [
      requiredProperty(
        'data',
        'any',
        'The data to save: bytes, a text, or a file value with data, uri or asset_id. At most 100,000,000 bytes.',
      ),
      optionalProperty('name', 'str', 'The name of the asset. Empty: the name of the saved file, else the asset id.', {
        default: '',
      }),
      optionalProperty(
        'content_type',
        'str?',
        'The content type, such as text/csv. If the bytes show another type, that type is used. Null: the type that the bytes show.',
      ),
      folderProperty('that the asset is put into. Null: the top level.'),
    ],
    outputs: [valueOutput('asset', 'any')],
    effect: true,
    gives_all: true,
    needs: (facts) => (typeof facts.data.data === 'string' ? [] : createFileNeedsReader('data')(facts)),
    run: (inputs, context) => runSave(inputs as unknown as AssetSaveInputs, context),
  },
  {
    node_type: 'asset.List',
    title: 'List assets',
    description:
      'Lists the assets of the user who runs the workflow, newest first: each by itself, and all of them as a list.',
    properties: [
      folderProperty('whose files are listed, or "root" for those at the top level. Null: all folders.'),
      optionalProperty(
        'content_type',
        'str?',
        'Lists only files of this type: a full type such as image/png, or a family such as image.',
      ),
      optionalProperty(
        'name',
        'str',
        'Lists only files whose name contains this text. Upper and lower case are the same.',
        { default: '' },
      ),
      optionalProperty('limit', 'int', 'The most assets.', { default: 100, min: 1, max: LONGEST_LIST }),
    ],
    outputs: [streamOutput('asset', 'any'), valueOutput('assets', 'list[any]'), valueOutput('count', 'int')],
    gives_all: true,
    resumes: true,
    isTimeDependent: true,
    run: (inputs, context) => listAssets(inputs as unknown as AssetListInputs, context),
  },
]
