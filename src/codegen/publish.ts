// `make publish-contract`: packs the publication into an npm archive. Equal input gives equal bytes.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { config } from '../../codegen.config.ts'
import { readPublication } from '../contract/publication-reader.ts'

const root = resolve(import.meta.dirname, '../..')

/** Packs `folder` into the folder `out`, and returns the path of the archive. @throws where the files do not match the index */
function packPublication(folder: string, out: string): string {
  const { digest } = readPublication(folder)
  mkdirSync(out, { recursive: true })
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', out, folder]
  const [packed] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8', shell: process.platform === 'win32' })) as {
    filename: string
  }[]
  const archive = join(out, packed!.filename.replace('@', '').replace('/', '-'))
  // The packed archive has to match the folder.
  if (readPublication(archive).digest !== digest) throw new Error(`${archive} differs from the folder that was packed`)
  return archive
}

const { positionals } = parseArgs({ allowPositionals: true })
const archive = packPublication(
  join(root, config.generated, config.publication.folder),
  resolve(positionals[0] ?? 'dist'),
)
console.log(`${archive}\nsha256 ${createHash('sha256').update(readFileSync(archive)).digest('hex')}`)
