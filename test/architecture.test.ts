// The layers of the code base: which folder may import from which, where each package is used, and how long files are.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { describe, test } from 'node:test'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '..')

/** From the lowest layer up. A folder imports from folders of lower layers, and from itself. */
const FLOORS: readonly (readonly string[])[] = [
  ['generated'],
  ['errors.ts', 'metrics.ts', 'platform.ts', 'start-error.ts', 'version.ts'],
  ['shared'],
  ['redaction', 'vault'],
  ['log.ts'],
  ['payloads'],
  ['db', 'engine'],
  ['workers', 'follow-quota.ts'],
  ['net', 'sandbox'],
  ['media'],
  ['config', 'nodes', 'events'],
  ['compute'],
  ['config.ts'],
  ['workflows', 'models', 'assets', 'vectors', 'access', 'settings', 'downloads'],
  ['jobs'],
  ['lifecycle', 'completions'],
  ['chat'],
  ['context.ts'],
  ['http', 'sockets', 'mcp', 'trpc', 'hooks'],
  ['composition'],
  ['server.ts', 'cli'],
  ['main.ts'],
]

/** Folders beside the layers, and the only folders that they import from. */
const ASIDE: Readonly<Record<string, readonly string[]>> = {
  client: ['generated'],
  conformance: ['generated', 'client', 'contract'],
  codegen: ['codegen.config.ts', 'contract'],
  web: [],
  launch: ['main.ts'],
  deploy: ['start-error.ts'],
  contract: [],
}

/** Folders of the layers that may import from folders beside them; no others may. */
const VISITORS: Readonly<Record<string, readonly string[]>> = {
  cli: ['deploy', 'contract', 'conformance'],
  // Requests are validated by the schemas of the published document.
  http: ['contract'],
  // One rule reads the keys of MessagePack, and the client has no files outside of its folder.
  payloads: ['client'],
}

/** Packages, and modules of Node, that only these folders may import. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  kysely: ['db'],
  'better-sqlite3': ['db', 'media'],
  express: ['http', 'server.ts'],
  'express-openapi-validator': ['http'],
  ws: ['sockets', 'client', 'conformance'],
  'quickjs-emscripten-core': ['sandbox'],
  '@jitl/quickjs-wasmfile-release-sync': ['sandbox'],
  'node:worker_threads': ['sandbox', 'db', 'payloads', 'compute'],
  'node:child_process': ['models', 'media', 'codegen', 'conformance', 'launch'],
  '@msgpack/msgpack': ['sockets', 'payloads', 'client', 'conformance', 'codegen'],
  pino: ['log.ts'],
  'prom-client': ['metrics.ts'],
  undici: ['net'],
  'ipaddr.js': ['net'],
  'eventsource-parser': ['models'],
  jose: ['access'],
  'lru-cache': ['access', 'workflows'],
  aws4fetch: ['assets'],
  typescript: ['codegen'],
  yaml: ['codegen', 'deploy'],
  ajv: ['codegen', 'sandbox'],
  esbuild: ['codegen'],
  sharp: ['media'],
  vega: ['media'],
  'vega-lite': ['media'],
  '@hyzyla/pdfium': ['media'],
  mammoth: ['media'],
  'read-excel-file': ['media'],
  'write-excel-file': ['media'],
  yazl: ['media'],
  hyparquet: ['media'],
  'hyparquet-writer': ['media'],
  'hyparquet-compressors': ['media'],
  yauzl: ['media'],
}

/** Folders that may read the global `process`, and files that are processes of their own. */
const PROCESS = [
  'main.ts',
  'config.ts',
  'log.ts',
  'codegen',
  'launch',
  'src/models/providers/local/model-process-main.ts',
  'src/media/process.ts',
]

/** The number of lines from which a file is reported as long. */
const LONG = 200

interface Source {
  path: string
  room: string
  text: string
  /** Paths of the project's files, from the root. */
  files: string[]
  packages: string[]
}

function paths(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mts|mjs|js)$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort()
}

function roomOf(path: string): string {
  if (path === 'generated/nodes.ts') return 'nodes'
  const [top, room] = path.split('/')
  return top === 'src' ? room! : top!
}

function read(path: string): Source {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const names = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName)
  return {
    path,
    text,
    room: roomOf(path),
    files: names.filter((name) => name.startsWith('.')).map((name) => join(dirname(path), name)),
    packages: names.filter((name) => !name.startsWith('.')).map(packageOf),
  }
}

function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}

const sources = [...paths('src'), ...paths('generated')].map(read)
const imports = new Map(sources.map(({ path, files }) => [path, files]))
const isDeploy = (path: string) => roomOf(path) === 'deploy'

function mayImport(from: string, to: string): boolean {
  if (from === to) return true
  const aside = ASIDE[from]
  if (aside) return aside.includes(to)
  if (VISITORS[from]?.includes(to)) return true
  return floorOf(to) >= 0 && floorOf(to) < floorOf(from)
}

function floorOf(room: string): number {
  return FLOORS.findIndex((rooms) => rooms.includes(room))
}

describe('the code base', () => {
  test('has no folder that is missing from the table', () => {
    const unknown = sources.filter(({ room }) => floorOf(room) < 0 && !(room in ASIDE))
    assert.deepEqual(
      unknown.map(({ path }) => path),
      [],
    )
  })

  test('imports only from lower layers', () => {
    const wrong = sources.flatMap(({ path, room, files }) =>
      files.filter((file) => !mayImport(room, roomOf(file))).map((file) => `${path} imports ${file}`),
    )
    assert.deepEqual(wrong, [])
  })

  test('is tested so that an import from a higher layer, or from a neighbour, is found', () => {
    for (const [from, to] of [
      ['db', 'jobs'],
      ['http', 'sockets'],
      ['sockets', 'http'],
      ['engine', 'db'],
      ['engine', 'nodes'],
      ['jobs', 'http'],
      ['generated', 'errors.ts'],
      ['http', 'codegen'],
      ['client', 'engine'],
      ['sandbox', 'nodes'],
      ['engine', 'sandbox'],
      ['server.ts', 'deploy'],
      ['http', 'deploy'],
      ['deploy', 'config.ts'],
    ] as const) {
      assert.equal(mayImport(from, to), false, `${from} → ${to}`)
    }
    for (const [from, to] of [
      ['http', 'jobs'],
      ['server.ts', 'http'],
      ['jobs', 'db'],
      ['db', 'generated'],
      ['cli', 'deploy'],
    ] as const) {
      assert.ok(mayImport(from, to), `${from} → ${to}`)
    }
  })

  test('has a server that does not import the helpers for deployment', () => {
    const reached = new Set(['src/server.ts'])
    for (const path of reached) for (const file of imports.get(path) ?? []) reached.add(file)
    assert.ok(reached.has('src/http/app.ts') && imports.get('src/cli/deploy-token.ts')?.some(isDeploy))
    assert.deepEqual([...reached].filter(isDeploy), [])
  })

  test('has no cycles', () => {
    const done = new Set<string>()
    const cycles: string[] = []
    const visit = (path: string, trail: readonly string[]): void => {
      const at = trail.indexOf(path)
      if (at >= 0) cycles.push([...trail.slice(at), path].join(' → '))
      if (at >= 0 || done.has(path)) return
      for (const file of imports.get(path) ?? []) visit(file, [...trail, path])
      done.add(path)
    }
    for (const path of imports.keys()) visit(path, [])
    assert.deepEqual(cycles, [])
  })

  test('uses each package only in its folders, and no unknown package', () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object }
    const wrong = sources.flatMap(({ path, room, packages }) =>
      packages
        .filter((name) => {
          if (name in PACKAGES && !PACKAGES[name]!.includes(room)) return true
          if (name.startsWith('node:')) return false
          return builtinModules.includes(name) || (room !== 'codegen' && !(name in dependencies))
        })
        .map((name) => `${path} imports ${name}`),
    )
    assert.deepEqual(wrong, [])
  })

  test('reads the process in few places', () => {
    const readers = sources.filter(
      ({ room, path, text }) =>
        room !== 'web' && !PROCESS.includes(room) && !PROCESS.includes(path) && usesProcess(path, text),
    )
    assert.deepEqual(
      readers.map(({ path }) => path),
      [],
    )
  })

  test('has short files', (t) => {
    const lengths = sources
      .filter(({ path }) => path.startsWith('src/'))
      .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
      .sort((a, b) => b.lines - a.lines)
    const long = lengths.filter(({ lines }) => lines > LONG)
    for (const { path, lines } of long) t.diagnostic(`${path} has ${lines} lines`)
    assert.ok(
      long.length * 10 <= lengths.length,
      `${long.length} of ${lengths.length} files are longer than ${LONG} lines`,
    )
  })
})

/** Whether a file refers to the global `process`, rather than to a member or a key of that name. */
function usesProcess(path: string, text: string): boolean {
  if (!text.includes('process')) return false
  let found = false
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === 'process' && isReference(node)) found = true
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true))
  return found
}

function isReference(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node
  return !ts.isPropertyAssignment(parent) && !ts.isPropertySignature(parent) && !ts.isMethodDeclaration(parent)
}
