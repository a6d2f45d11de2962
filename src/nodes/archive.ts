// archive.*: ZIP files. The work is done apart, by the tasks of the same names in src/media.
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { option, output, required } from './define.ts'
import { fileNeeds, fileOf, filesOf, renamed, type TakenFile, worked } from './files.ts'

const ARCHIVE = required(
  'archive',
  'any',
  'A ZIP file: bytes, a file value, or the address of an asset or a temporary file.',
)

/** What the ending of a name says, for what comes out of an archive: kind and content type. */
const ENDINGS: Readonly<Record<string, readonly [string, string]>> = {
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

const UNKNOWN = ['document', 'application/octet-stream'] as const

function fileValue(data: Uint8Array, name: string) {
  const ending = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  const [type, content_type] = Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending]! : UNKNOWN
  return { type, data, content_type, name }
}

function namesOf(files: readonly TakenFile[], given: readonly string[] | null): string[] {
  if (given && given.length !== files.length)
    throw new NodeError(`There are ${files.length} files and ${given.length} names.`, 'bad_input')
  return files.map(({ name }, index) => given?.[index] ?? name ?? `file${index + 1}`)
}

type Zip = { files: unknown[]; names: string[] | null; level: number; name: string }

export const archiveNodes: NodeType[] = [
  {
    node_type: 'archive.Zip',
    title: 'Pack ZIP',
    description:
      'Packs files into a ZIP archive, in their order. The same files give the same bytes: no time is written.',
    properties: [
      required('files', 'list[any]', 'The files: bytes, file values, or addresses of assets or temporary files.'),
      option(
        'names',
        'list[str]?',
        'Their names in the archive, with folders such as a/b.txt. Null: their own, or file1, file2 and so on.',
      ),
      option('level', 'int', 'How hard to pack: 0 not at all, 9 most.', { default: 6, min: 0, max: 9 }),
      option('name', 'str', 'The name of the archive.', { default: 'archive.zip' }),
    ],
    outputs: [output('archive', 'document')],
    needs: fileNeeds('files'),
    async run(inputs, context) {
      const { files, names, level, name } = inputs as Zip
      const taken = await filesOf(files, 'File', context)
      const made = await worked('archive.zip', taken, { names: namesOf(taken, names), level }, context)
      const archive = { type: 'document', data: made.files[0]!, content_type: 'application/zip' }
      return { archive: { ...archive, name: renamed(name, 'zip') } }
    },
  },
  {
    node_type: 'archive.Unzip',
    title: 'Unpack ZIP',
    description:
      'Takes the files out of a ZIP archive, at most 1,000 and 100 MB. Archives that lead out of themselves, lie over themselves or grow without measure are refused.',
    properties: [
      ARCHIVE,
      option('names', 'list[str]?', 'The files to take, by their names in the archive. Null: all.'),
    ],
    outputs: [output('files', 'list[any]'), output('names', 'list[str]')],
    needs: fileNeeds('archive'),
    async run({ archive, names }, context) {
      const file = await fileOf(archive, 'The archive', context)
      const { files, value } = await worked('archive.unzip', [file], { names: names ?? null }, context)
      const found = value as string[]
      return { files: files.map((data, index) => fileValue(data, found[index]!)), names: found }
    },
  },
  {
    node_type: 'archive.List',
    title: 'List ZIP',
    description:
      'Tells what is in a ZIP archive, without unpacking it: names, kinds (file, directory or other), sizes in bytes as they are and as they are packed, and whether they are encrypted.',
    properties: [ARCHIVE],
    outputs: [output('entries', 'list[dict[str,any]]'), output('count', 'int')],
    needs: fileNeeds('archive'),
    async run({ archive }, context) {
      const file = await fileOf(archive, 'The archive', context)
      const entries = (await worked('archive.list', [file], {}, context)).value as unknown[]
      return { entries, count: entries.length }
    },
  },
]
