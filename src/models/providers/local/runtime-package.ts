// Finds the optional package that runs local models: in its own folder below the data folder, or beside this project. It is searched each time, so
// that a server needs no restart after the installation.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const PACKAGE_NAME = 'node-llama-cpp'
/** The version that was tested. */
const TESTED_VERSION = '3.22.1'
const SUPPORTED_VERSIONS = /^3\.(2[2-9]|[3-9]\d|\d{3,})\./
/** The result of `resolveRuntimeFolder` as a shell expression with the server's settings. */
const DEFAULT_RUNTIME_FOLDER = `"\${SVC_DATA_DIR:-$HOME/.local/share/svc}/runtime"`

/** The folder in which the package can be installed apart from everything else. */
export function resolveRuntimeFolder(data_dir: string): string {
  return join(data_dir, 'runtime')
}

export interface RuntimePackageSearch {
  /** The folder that is searched first, and in which the package is to be installed. */
  readonly runtime_dir: string
  /** Whether messages may show `runtime_dir`; absent: no. */
  readonly shows_path?: boolean
  /** More folders to search; absent: beside this project, in the folders above these sources. */
  readonly beside?: readonly string[]
}

/** `place`: the folder from which the package is resolved. `lack`: why no usable package was found, and what to do. */
export type RuntimePackageResult = { readonly place: string } | { readonly lack: string }

/** Finds the first folder with a supported version. */
export function findRuntimePackage(search: RuntimePackageSearch): RuntimePackageResult {
  const { runtime_dir, shows_path = false, beside: besideFolders = listAncestorFolders(import.meta.dirname) } = search
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
      : `The package ${PACKAGE_NAME} is installed in version ${unsupportedVersions.join(' and ')}, which is not known to work. Install another`
  const folder = shows_path ? quoteForShell(runtime_dir) : DEFAULT_RUNTIME_FOLDER
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
