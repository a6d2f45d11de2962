// Where the optional package is that runs models: in a folder of its own in the data folder, or beside this project. Looked for each time, so
// that a server need not be started again after it was installed.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const NAME = 'node-llama-cpp'
/** What it was tried with. */
const TRIED = '3.22.1'
const GOOD = /^3\.(2[2-9]|[3-9]\d|\d{3,})\./
/** As a shell says the folder that `runtimeFolder` gives where the settings are those of the server. */
const BY_SETTINGS = `"\${SVC_DATA_DIR:-$HOME/.local/share/svc}/runtime"`

/** The folder `runtime` of the data folder, where it can be installed out of the way of everything else. */
export function runtimeFolder(data_dir: string): string {
  return join(data_dir, 'runtime')
}

export interface PackageSearch {
  /** Looked into first, and where the package is to be installed. */
  readonly runtime_dir: string
  /** Whether those who ask may learn where that is; absent: no. */
  readonly tells_place?: boolean
  /** Where it is looked for besides; absent: beside this project, in the folders above these sources. */
  readonly beside?: readonly string[]
}

/** `place`: the folder that has it, from where its name is resolved. `lack`: why there is none that works, and what to do. */
export type PackageFound = { readonly place: string } | { readonly lack: string }

/** The first place that has a version which is known to work. */
export function findPackage(search: PackageSearch): PackageFound {
  const { runtime_dir, tells_place = false, beside = above(import.meta.dirname) } = search
  const odd: string[] = []
  for (const place of [runtime_dir, ...beside]) {
    const manifest = join(place, 'node_modules', NAME, 'package.json')
    if (!existsSync(manifest)) continue
    const version = versionIn(manifest)
    if (version !== null && GOOD.test(version)) return { place }
    odd.push(version ?? 'unknown')
  }
  const why =
    odd.length === 0
      ? `The optional package ${NAME}, which runs local models, is not installed. Install it`
      : `The package ${NAME} is there in version ${odd.join(' and ')}, which is not known to work. Install another`
  const folder = tells_place ? inShell(runtime_dir) : BY_SETTINGS
  return { lack: `${why}: npm install --ignore-scripts --prefix ${folder} ${NAME}@${TRIED}` }
}

function inShell(path: string): string {
  return /^[\w./:\\-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

function above(folder: string): string[] {
  return dirname(folder) === folder ? [folder] : [folder, ...above(dirname(folder))]
}

function versionIn(manifest: string): string | null {
  try {
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version?: unknown }
    return typeof version === 'string' ? version : null
  } catch {
    return null
  }
}
