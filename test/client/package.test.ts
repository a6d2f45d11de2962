// The client as others get it: nothing of the server behind it, small enough for pages, plain JavaScript with types, and the guide's example.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import ts from 'typescript'
import { buildClient } from '../../src/codegen/build-client.ts'
import { codeBlock, readGuidePage } from '../helpers/documents.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'

const ROOT = join(import.meta.dirname, '../..')
const run = promisify(execFile)

interface Graph {
  files: Set<string>
  packages: Set<string>
}

/** What a module reaches, and what of it is there when it runs. */
function reached(entry: string, types: boolean): Graph {
  const found: Graph = { files: new Set([entry]), packages: new Set() }
  for (const path of found.files) {
    // The contract imports nothing: test/architecture.test.ts.
    if (path.startsWith('generated/')) continue
    const source = ts.createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.Latest)
    for (const statement of source.statements) {
      const named = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)
      if (!named || !statement.moduleSpecifier || (!types && isType(statement))) continue
      const { text } = statement.moduleSpecifier as ts.StringLiteral
      if (text.startsWith('.')) found.files.add(relative(ROOT, join(ROOT, dirname(path), text)))
      else found.packages.add(text)
    }
  }
  return found
}

function isType(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  return ts.isExportDeclaration(statement)
    ? statement.isTypeOnly
    : statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
}

describe('the import graph of the client', () => {
  for (const [entry, packages] of [
    ['node.ts', ['@msgpack/msgpack', 'openapi-fetch', 'ws']],
    ['browser.ts', ['@msgpack/msgpack', 'openapi-fetch']],
  ] as const) {
    test(`of ${entry} holds the client, three packages and types`, () => {
      const all = reached(`src/client/${entry}`, true)
      const rooms = [...all.files].filter((path) => !path.startsWith('src/client/'))
      assert.deepEqual(rooms.sort(), ['generated/errors.ts', 'generated/messages.ts', 'generated/types.ts'])
      const running = reached(`src/client/${entry}`, false)
      assert.deepEqual([...running.packages].sort(), packages)
      assert.ok(running.files.size > 15)
      for (const path of running.files) assert.match(path, /^src\/client\//)
    })
  }
})

describe('the built client', () => {
  let folder: string
  let installed: string

  before(() => {
    folder = temporaryFolder()
    installed = join(folder, 'node_modules/workflow-execution-service')
    mkdirSync(installed, { recursive: true })
    writeFileSync(join(installed, 'package.json'), readFileSync(join(ROOT, 'package.json')))
    buildClient(join(installed, 'dist/client'))
    for (const name of ['@msgpack', 'openapi-fetch', 'openapi-typescript-helpers', 'ws', '@types'])
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  async function bundled(platform: 'browser' | 'node'): Promise<{ text: string; inputs: string[]; outside: string[] }> {
    const { outputFiles, metafile } = await build({
      stdin: { contents: "export * from 'workflow-execution-service/client'", resolveDir: folder },
      bundle: true,
      format: 'esm',
      platform,
      minify: true,
      write: false,
      metafile: true,
      logLevel: 'silent',
      absWorkingDir: folder,
    })
    const outside = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path))
    return { text: outputFiles[0]!.text, inputs: Object.keys(metafile.inputs), outside }
  }

  test('is small in a page, and has nothing of Node or of the server', async () => {
    const { text, inputs, outside } = await bundled('browser')
    assert.ok(text.length < 65_000, `${text.length} characters`)
    const packed = gzipSync(text).length
    assert.ok(packed < 22_000, `${packed} bytes`)
    assert.deepEqual(outside, [])
    const strangers = inputs.filter((path) => !/dist\/client\/src\/client|@msgpack|openapi-fetch|<stdin>/.test(path))
    assert.deepEqual(strangers, [])
    assert.ok(!inputs.some((path) => path.includes('node-websocket') || path.includes('/ws/')))
    // The other condition does bring them: the look above is able to see.
    const other = await bundled('node')
    assert.ok(other.inputs.some((path) => path.includes('node-websocket')) && other.outside.includes('net'))
  })

  test('runs the guide’s example in the oldest Node that is there, and prints what is printed', async () => {
    await using server = await startServer()
    const { script, printed } = example()
    writeFileSync(join(folder, 'client.mjs'), script.replace('http://127.0.0.1:7777', server.url))
    const node = existsSync('/usr/bin/node') ? '/usr/bin/node' : process.execPath
    const { stdout } = await run(node, ['client.mjs'], { cwd: folder, timeout: 20_000 })
    assert.equal(stdout, printed)
  })

  test('has types by which a strict project tells right from wrong', () => {
    const path = join(folder, 'consumer.mts')
    writeFileSync(path, CONSUMER)
    const program = ts.createProgram([path], {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2022.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts', 'lib.dom.asynciterable.d.ts'],
      types: [],
      strict: true,
      skipLibCheck: true,
      noEmit: true,
    })
    const problems = ts.getPreEmitDiagnostics(program)
    assert.equal(
      ts.formatDiagnostics(problems, { ...ts.sys, getCanonicalFileName: (name) => name, getNewLine: () => '\n' }),
      '',
    )
  })
})

const CONSUMER = `import { createClient, JobError, ServiceError, type Job } from 'workflow-execution-service/client'
const client = createClient({ url: 'http://localhost:7777', token: async () => 'ntk_1', encoding: 'json-text' })
const outputs: { greeting: string } = await client.run<{ greeting: string }>('greeting', { name: 'Ada' })
const job: Job = await client.submit('greeting', outputs, { signal: AbortSignal.timeout(5) })
for await (const event of job) if (event.type === 'job_terminal') event.snapshot.status.toUpperCase()
const { data } = await client.http.GET('/api/jobs/{id}', { params: { path: { id: job.job_id } } })
const status: string | undefined = data?.status
const size: number = (await client.upload(new Blob(['x']), { onProgress: ({ sent }) => sent + 1 })).size
const etag: string = (await client.rpc('get_workflow_interface', { id: 'greeting' })).etag
await job.result.catch((error: unknown) => (error instanceof JobError ? error.snapshot : error instanceof ServiceError && error.code))
// @ts-expect-error the command does not exist
await client.rpc('get_wokflow', {})
// @ts-expect-error the data has another shape
await client.rpc('get_workflow_interface', { workflow: 'greeting' })
// @ts-expect-error the path does not exist
await client.http.GET('/api/jbos')
// @ts-expect-error the record has no such field
await job.result.then((manifest) => manifest.ouputs)
export { etag, size, status }
`

/** The example of the guide, and what stands below it. */
function example(): { script: string; printed: string } {
  const page = readGuidePage('typescript-client')
  return { script: codeBlock(page, 'js'), printed: codeBlock(page, 'text') }
}
