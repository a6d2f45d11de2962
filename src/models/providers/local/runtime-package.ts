// Where the optional package is that runs models: in a folder of its own in the data folder, or beside this project. Looked for each time, so
// that a server need not be started again after it was installed.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const PACKAGE_NAME = 'node-llama-cpp'
/** What it was tried with. */
const TESTED_VERSION = '3.22.1'
const SUPPORTED_VERSIONS = /^3\.(2[2-9]|[3-9]\d|\d{3,})\./
/** As a shell says the folder that `runtimeFolder` gives where the settings are those of the server. */
const DEFAULT_RUNTIME_FOLDER = `"\${SVC_DATA_DIR:-$HOME/.local/share/svc}/runtime"`

/** The folder `runtime` of the data folder, where it can be installed out of the way of everything else. */
export function resolveRuntimeFolder(data_dir: string): string {
  return join(data_dir, 'runtime')
}

export interface RuntimePackageSearch {
  /** Looked into first, and where the package is to be installed. */
  readonly runtime_dir: string
  /** Whether those who ask may learn where that is; absent: no. */
  readonly shows_path?: boolean
  /** Where it is looked for besides; absent: beside this project, in the folders above these sources. */
  readonly beside?: readonly string[]
}

/** `place`: the folder that has it, from where its name is resolved. `lack`: why there is none that works, and what to do. */
export type RuntimePackageResult = { readonly place: string } | { readonly lack: string }

/** The first place that has a version which is known to work. */
export function findRuntimePackage(search: RuntimePackageSearch): RuntimePackageResult {
  const {
    runtime_dir,
    shows_path: tells_place = false,
    beside: besideFolders = listAncestorFolders(import.meta.dirname),
  } = search
  const unsupportedVersions: string[] = []
  for (const place of [runtime_dir, ...besideFolders]) {
    const manifest = join(place, 'node_modules', PACKAGE_NAME, 'package.json')
    if (!existsSync(manifest)) continue
    const version = readVersion(manifest)
    if (version !== null && SUPPORTED_VERSIONS.test(version)) return { place }
    unsupportedVersions.push(version ?? 'unknown')
  }
  const why =
    unsupportedVersions.length === 0
      ? `The optional package ${PACKAGE_NAME}, which runs local models, is not installed. Install it`
      : `The package ${PACKAGE_NAME} is there in version ${unsupportedVersions.join(' and ')}, which is not known to work. Install another`
  const folder = tells_place ? quoteForShell(runtime_dir) : DEFAULT_RUNTIME_FOLDER
  return { lack: `${why}: npm install --ignore-scripts --prefix ${folder} ${PACKAGE_NAME}@${TESTED_VERSION}` }
}

function quoteForShell(path: string): string {
  return /^[\w./:\\-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

function listAncestorFolders(folder: string): string[] {
  return dirname(folder) === folder ? [folder] : [folder, ...listAncestorFolders(dirname(folder))]
}

function readVersion(manifest: string): string | null {
  try {
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version?: unknown }
    return typeof version === 'string' ? version : null
  } catch {
    return null
  }
}
