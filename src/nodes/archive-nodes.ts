// archive.*: ZIP files. Tasks of the same names in src/media do the work in a worker.
import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import {
  createFileNeedsReader,
  type InputFile,
  readFileInput,
  readFileInputs,
  replaceExtension,
  runMediaTask,
} from './shared/file-inputs.ts'
import { optionalProperty, requiredProperty, valueOutput } from './shared/node-type-builders.ts'

const ARCHIVE_PROPERTY = requiredProperty(
  'archive',
  'any',
  'A ZIP file: bytes, a file value, or the URL of an asset or a temporary file.',
)

/** Kind and content type of an unpacked file, by the extension of its name. */
const TYPES_BY_EXTENSION: Readonly<Record<string, readonly [string, string]>> = {
  png: ['image', 'image/png'],
  jpg: ['image', 'image/jpeg'],
  jpeg: ['image', 'image/jpeg'],
  gif: ['image', 'image/gif'],
  webp: ['image', 'image/webp'],
  wav: ['audio', 'audio/wav'],
  mp3: ['audio', 'audio/mpeg'],
  mp4: ['video', 'video/mp4'],
  csv: ['dataframe', 'text/csv'],
  jsonl: ['dataframe', 'application/jsonl'],
  parquet: ['dataframe', 'application/vnd.apache.parquet'],
  txt: ['document', 'text/plain'],
  md: ['document', 'text/markdown'],
  html: ['document', 'text/html'],
  json: ['document', 'application/json'],
  pdf: ['document', 'application/pdf'],
  docx: ['document', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  zip: ['document', 'application/zip'],
  xlsx: ['document', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
}

const UNKNOWN_FILE_TYPE = ['document', 'application/octet-stream'] as const

function toFileValue(data: Uint8Array, name: string) {
  const ending = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  const [type, content_type] = Object.hasOwn(TYPES_BY_EXTENSION, ending)
    ? TYPES_BY_EXTENSION[ending]!
    : UNKNOWN_FILE_TYPE
  return { type, data, content_type, name }
}

function resolveNames(files: readonly InputFile[], given: readonly string[] | null): string[] {
  if (given && given.length !== files.length)
    throw new NodeError(`There are ${files.length} files and ${given.length} names.`, 'bad_input')
  return files.map(({ name }, index) => given?.[index] ?? name ?? `file${index + 1}`)
}

type ZipInputs = { files: unknown[]; names: string[] | null; level: number; name: string }

export const archiveNodes: NodeType[] = [
  {
    node_type: 'archive.Zip',
    title: 'Pack ZIP',
    description:
      'Packs files into a ZIP archive, in their order. The same files give the same bytes, because no time is stored.',
    properties: [
      requiredProperty('files', 'list[any]', 'The files: bytes, file values, or URLs of assets or temporary files.'),
      optionalProperty(
        'names',
        'list[str]?',
        'The names of the files in the archive; they may have folders, such as a/b.txt. Null: their own names, or file1, file2 and so on.',
      ),
      optionalProperty('level', 'int', 'The level of compression: 0 is none, 9 the strongest.', {
        default: 6,
        min: 0,
        max: 9,
      }),
      optionalProperty('name', 'str', 'The name of the archive.', { default: 'archive.zip' }),
    ],
    outputs: [valueOutput('archive', 'document')],
    needs: createFileNeedsReader('files'),
    async run(inputs, context) {
      const { files, names, level, name } = inputs as ZipInputs
      const taken = await readFileInputs(files, 'File', context)
      const made = await runMediaTask('archive.zip', taken, { names: resolveNames(taken, names), level }, context)
      const archive = { type: 'document', data: made.files[0]!, content_type: 'application/zip' }
      return { archive: { ...archive, name: replaceExtension(name, 'zip') } }
    },
  },
  {
    node_type: 'archive.Unzip',
    title: 'Unpack ZIP',
    description:
      'Unpacks the files of a ZIP archive: at most 1,000 files and 100 MB. Archives with paths outside of the archive, overlapping files or extreme compression are refused.',
    properties: [
      ARCHIVE_PROPERTY,
      optionalProperty('names', 'list[str]?', 'The files to take, by their names in the archive. Null: all.'),
    ],
    outputs: [valueOutput('files', 'list[any]'), valueOutput('names', 'list[str]')],
    needs: createFileNeedsReader('archive'),
    async run({ archive, names }, context) {
      const file = await readFileInput(archive, 'The archive', context)
      const { files, value } = await runMediaTask('archive.unzip', [file], { names: names ?? null }, context)
      const found = value as string[]
      return { files: files.map((data, index) => toFileValue(data, found[index]!)), names: found }
    },
  },
  {
    node_type: 'archive.List',
    title: 'List ZIP',
    description:
      'Lists the entries of a ZIP archive without unpacking it: names, kinds (file, directory or other), sizes in bytes unpacked and packed, and whether they are encrypted.',
    properties: [ARCHIVE_PROPERTY],
    outputs: [valueOutput('entries', 'list[dict[str,any]]'), valueOutput('count', 'int')],
    needs: createFileNeedsReader('archive'),
    async run({ archive }, context) {
      const file = await readFileInput(archive, 'The archive', context)
      const entries = (await runMediaTask('archive.list', [file], {}, context)).value as unknown[]
      return { entries, count: entries.length }
    },
  },
]
