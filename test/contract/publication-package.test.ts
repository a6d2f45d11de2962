// The package of the publication, as somebody has it who has nothing else: installed, imported, typed, and told apart from a damaged one.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { gunzipSync, gzipSync } from 'node:zlib'
import { config } from '../../codegen.config.ts'
import { PublicationError } from '../../src/contract/publication-files.ts'
import { readPublication } from '../../src/contract/publication-reader.ts'
import { svc } from '../helpers/process.ts'
import { startServer } from '../helpers/server.ts'

const run = promisify(execFile)
const ROOT = resolve(import.meta.dirname, '../..')
const FOLDER = join(ROOT, config.generated, config.publication.folder)
const NAME = config.publication.package
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

/** Programs of others that hang are a failure with a name. */
const BOUND = { timeout: 60_000 }

const folder = mkdtempSync(join(tmpdir(), 'svc-package-'))
const consumer = join(folder, 'consumer')
const installed = join(consumer, 'node_modules', NAME)
let archive = ''

/** The archive that the command names. */
async function packed(out: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(ROOT, 'src/codegen/publish.ts'), join(folder, out)], {
    cwd: ROOT,
  })
  const [path, digest] = stdout.split('\n')
  assert.match(digest!, /^sha256 [0-9a-f]{64}$/)
  return path!
}

/** A code block of a page of the package. */
function block(language: string, at = 0, name = 'README.md'): string {
  const page = readFileSync(join(installed, name), 'utf8')
  return [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))][at]![1]!
}

before(async () => {
  archive = await packed('one')
  mkdirSync(consumer)
  writeFileSync(join(consumer, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }')
  const args = ['install', '--ignore-scripts', '--offline', '--no-audit', '--no-fund', archive]
  await run('npm', args, { cwd: consumer, env: { ...process.env, npm_config_cache: join(folder, 'cache') } })
}, BOUND)

after(() => rmSync(folder, { recursive: true, force: true }))

describe('the package', () => {
  test('is packed twice with the same bytes', async () => {
    assert.deepEqual(readFileSync(await packed('two')), readFileSync(archive))
  })

  test('holds the files of the publication and nothing that runs', () => {
    assert.deepEqual(readdirSync(installed).sort(), readdirSync(FOLDER).sort())
    for (const name of readdirSync(installed)) assert.match(name, /\.(json|hex|d\.ts|md)$|^LICENSE$/)
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>
    for (const key of ['dependencies', 'scripts', 'bin', 'main']) assert.ok(!(key in manifest), key)
    assert.deepEqual(
      readdirSync(join(consumer, 'node_modules')).filter((name) => !name.startsWith('.')),
      [NAME.split('/')[0]],
    )
  })

  test('gives its files to programs, as its page shows', async () => {
    const script = `
      ${block('mjs')}
      import example from '${NAME}/JobSnapshot.completed.example.json' with { type: 'json' }
      console.log(example.status)`
    writeFileSync(join(consumer, 'import.mjs'), script)
    const { stdout } = await run(process.execPath, ['import.mjs'], { cwd: consumer })
    const { contract_version, files } = JSON.parse(readFileSync(join(installed, 'index.json'), 'utf8')) as {
      contract_version: string
      files: unknown[]
    }
    assert.equal(stdout, `${contract_version} ${files.length} /schemas/lifecycle-v1/JobSnapshot.json\ncompleted\n`)
  })

  test('gives its types to a compiler, as its page shows', async () => {
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022']
    const compile = (text: string) => {
      writeFileSync(join(consumer, 'consumer.ts'), text)
      return run(process.execPath, [TSC, ...flags, 'consumer.ts'], { cwd: consumer })
    }
    await compile(block('ts'))
    await assert.rejects(compile(block('ts').replace("workflow_id: 'wf_greeting'", 'workflow_id: 7')), ({ stdout }) =>
      /TS2322/.test(stdout),
    )
  })

  test('validates as its page shows', async () => {
    const beside = join(folder, 'validating')
    cpSync(installed, beside, { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(beside, 'node_modules'))
    writeFileSync(join(beside, 'validate.mjs'), block('js'))
    const { stdout } = await run(process.execPath, ['validate.mjs'], { cwd: beside })
    assert.equal(stdout, 'not valid\n')
  })

  test('runs a workflow as its page shows', async () => {
    await using server = await startServer()
    const command = [0, 1, 2].map((at) => block('sh', at)).find((one) => one.startsWith('curl'))!
    const { stdout } = await run('sh', ['-c', command.replace('http://127.0.0.1:7777', server.url)])
    assert.deepEqual((JSON.parse(stdout) as { outputs: object }).outputs, { greeting: 'Hello, Ada!' })
  })

  test(
    'tells how a client is certified: its first driver passes, and does not where it asks again too early',
    BOUND,
    async () => {
      const driver = block('js', 0, 'conformance.md')
      const command = readFileSync(join(installed, 'conformance.md'), 'utf8').match(
        /`svc (conformance client [^`]*--scenario[^`]*)`/,
      )![1]!
      const certified = async (text: string) => {
        writeFileSync(join(consumer, 'driver.mjs'), text)
        const args = command.match(/'[^']*'|\S+/g)!.map((one) => one.replaceAll("'", ''))
        const { code, stdout } = await svc([...args, '--pace', '0.1'], {}, { cwd: consumer })
        return [code, stdout.trim().split('\n').at(-1)]
      }
      assert.deepEqual(await certified(driver), [0, '1 scenarios: 1 pass, 0 fail, 0 open'])
      const hasty = driver.replace('seconds * 1000', '1')
      assert.deepEqual(await certified(hasty), [1, '1 scenarios: 0 pass, 1 fail, 0 open'])
    },
  )

  test('goes into the generator that its page names', async () => {
    const [, generator, file, ...rest] = block('sh').trim().split(' ')
    const bin = join(ROOT, 'node_modules', generator!, 'bin/cli.js')
    const at = rest.indexOf('--output') + 1
    rest[at] = join(consumer, rest[at]!)
    await run(process.execPath, [bin, join(installed, file!), ...rest], { cwd: consumer })
    assert.match(readFileSync(join(consumer, 'service.d.ts'), 'utf8'), /"\/api\/sdk\/v1\/capabilities"/)
    assert.ok(existsSync(join(installed, 'openapi.json')))
  })
})

describe('reading a publication', () => {
  const place = (name: string) => join(folder, name)
  const refused = (path: string, reason: RegExp) =>
    assert.throws(
      () => readPublication(path),
      (error) => error instanceof PublicationError && reason.test(error.message),
    )

  test('gives the same of a folder, its index and its archive', () => {
    const all = [FOLDER, join(FOLDER, 'index.json'), archive].map(readPublication)
    assert.equal(new Set(all.map(({ digest }) => digest)).size, 1)
    for (const one of all) assert.deepEqual(one.json('errors.json'), all[0]!.json('errors.json'))
  })

  test('refuses what is damaged, and says so', () => {
    const bytes = readFileSync(archive)
    const tar = gunzipSync(bytes)
    const write = (name: string, content: Uint8Array) => {
      writeFileSync(place(name), content)
      return place(name)
    }
    refused(place('nowhere.tgz'), /nowhere\.tgz is not a publication of the contract: there is no such file or folder/)
    refused(write('text.tgz', Buffer.from('text')), /header/)
    refused(write('short.tgz', bytes.subarray(0, 1000)), /unexpected end/)
    refused(write('cut.tgz', gzipSync(tar.subarray(0, 100_000))), /the archive is incomplete/)
    refused(write('head.tgz', gzipSync(Buffer.concat([Buffer.alloc(512, 1), tar]))), /damaged/)
    const other = Buffer.from(tar)
    other[other.indexOf('"retryable"') + 3] = 0x58
    refused(write('other.tgz', gzipSync(other)), /does not match the digest in its index/)
    mkdirSync(place('empty'))
    refused(place('empty'), /index\.json/)
    writeFileSync(join(place('empty'), 'index.json'), '{"files": [], "digest": "x"}')
    refused(place('empty'), /its index does not match its digest/)
    writeFileSync(join(place('empty'), 'index.json'), '{"files": [{"name": "../../etc/passwd"}]}')
    refused(place('empty'), /its index has the invalid file name "\.\.\/\.\.\/etc\/passwd"/)
    writeFileSync(join(place('empty'), 'index.json'), '[]')
    refused(place('empty'), /is not a JSON object/)
  })
})
