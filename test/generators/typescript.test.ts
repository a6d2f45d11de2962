// The published documents, as they are, through four generators of TypeScript clients; what comes out compiles and uses the service.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, type TestContext, test } from 'node:test'
import { build } from 'esbuild'
import { DOCUMENTS, npmTools, openapiGenerator, PUBLISHED, ROOT, run, usesService } from './tools.ts'

const place = mkdtempSync(join(tmpdir(), 'svc-generators-'))
after(() => rmSync(place, { recursive: true, force: true }))

interface Generator {
  /** Where its packages are; null after the test was skipped. */
  readonly tools: (context: TestContext) => Promise<string | null>
  /** What runs it; Node unless it says more. */
  readonly program?: string
  /** The arguments that make `output` of `document`. */
  readonly command: (tools: string, document: string, output: string) => string[]
  /** What a user writes: `url`, `token`, `workflow` and `params` are there. */
  readonly use: string
}

const HEADERS = "{ authorization: 'Bearer ' + token, accept: 'application/json' }"

/** What is printed of what a client gave: `jobs`, `events`, and the `error` of the service. */
const PRINT = `const [job, end] = [jobs[0]!, events.at(-1)!]
console.log(jobs.length, 'job', job.status)
if (end.type !== 'job_terminal') throw new Error(end.type)
console.log(end.type, end.status)
console.log(error.code, error.type)`

const GENERATORS: Readonly<Record<string, Generator>> = {
  'openapi-typescript': {
    tools: async () => ROOT,
    command: (tools, document, output) => [
      join(tools, 'node_modules/openapi-typescript/bin/cli.js'),
      document,
      '--output',
      `${output}.ts`,
    ],
    use: `import createClient from 'openapi-fetch'
import type { paths } from './client'
const client = createClient<paths>({ baseUrl: url, headers: ${HEADERS} })
const { data: made } = await client.POST('/api/workflows', { body: workflow })
const { data } = await client.POST('/api/workflows/{id}/run', { params: { path: { id: made!.id } }, body: { params } })
console.log(data!.outputs.greeting)
const jobs = (await client.GET('/api/jobs')).data!
const path = { id: jobs[0]!.job_id }
const events = (await client.GET('/api/jobs/{id}/events', { params: { path } })).data!
if (typeof events === 'string') throw new Error(events)
const { error: answer } = await client.GET('/api/workflows/{id}', { params: { path: { id: 'wf_none' } } })
if (!answer || typeof answer.error === 'string') throw new Error('no error')
const { error } = answer
${PRINT}`,
  },
  '@hey-api/openapi-ts': {
    tools: npmTools,
    command: (tools, document, output) => [
      join(tools, 'node_modules/@hey-api/openapi-ts/bin/run.js'),
      ...['--input', document, '--output', output, '--client', '@hey-api/client-fetch'],
    ],
    use: `import { createWorkflow, followJobEvents, getWorkflow, listJobs, runWorkflow } from './client'
import { client } from './client/client.gen'
client.setConfig({ baseUrl: url, headers: ${HEADERS} })
const { data: made } = await createWorkflow({ body: workflow, throwOnError: true })
const { data } = await runWorkflow({ path: { id: made.id }, body: { params }, throwOnError: true })
console.log(data.outputs.greeting)
const { data: jobs } = await listJobs({ throwOnError: true })
const { data: events } = await followJobEvents({ path: { id: jobs[0]!.job_id }, throwOnError: true })
if (!Array.isArray(events)) throw new Error('no events')
const { error: answer } = await getWorkflow({ path: { id: 'wf_none' } })
if (!answer || typeof answer.error === 'string') throw new Error('no error')
const { error } = answer
${PRINT}`,
  },
  orval: {
    tools: npmTools,
    command: (tools, document, output) => [
      join(tools, 'node_modules/orval/dist/bin/orval.mjs'),
      ...['--input', document, '--output', `${output}.ts`, '--client', 'fetch'],
    ],
    use: `import { createWorkflow, followJobEvents, getWorkflow, listJobs, runWorkflow } from './client'
const fetchHere = globalThis.fetch
globalThis.fetch = ((path: string, init?: RequestInit) => fetchHere(new URL(path, url), init)) as typeof fetch
const headers = ${HEADERS}
const sent = { ...headers, 'Content-Type': 'application/json' }
const made = await createWorkflow(workflow, { headers: sent })
if (made.status !== 201) throw new Error(String(made.status))
const done = await runWorkflow(made.data.id, { params }, { headers: sent })
if (done.status !== 200) throw new Error(String(done.status))
console.log(done.data.outputs.greeting)
const listed = await listJobs(undefined, { headers })
if (listed.status !== 200) throw new Error(String(listed.status))
const jobs = listed.data
const read = await followJobEvents(jobs[0]!.job_id, undefined, { headers })
if (read.status !== 200 || typeof read.data === 'string') throw new Error(String(read.status))
const events = read.data
const none = await getWorkflow('wf_none', { headers })
if (none.status !== 404) throw new Error(String(none.status))
const { error } = none.data
${PRINT}`,
  },
  'openapi-generator': {
    tools: openapiGenerator,
    program: 'java',
    command: (tools, document, output) => [
      ...['-jar', tools, 'generate', '-g', 'typescript-fetch', '-i', document, '-o', output],
    ],
    use: `import { ApiErrorFromJSON, Configuration, CreateWorkflowRequestFromJSON, JobsApi, ResponseError, WorkflowsApi } from './client'
const configuration = new Configuration({ basePath: url, accessToken: token })
const workflows = new WorkflowsApi(configuration)
const api = new JobsApi(configuration)
const made = await workflows.createWorkflow({ createWorkflowRequest: CreateWorkflowRequestFromJSON(workflow) })
const result = await workflows.runWorkflow({ id: made.id, runRequest: { params } })
console.log(result.outputs.greeting)
const jobs = await api.listJobs()
const events = (await api.followJobEvents({ id: jobs[0]!.jobId }, { headers: ${HEADERS} }))!
const failure = await workflows.getWorkflow({ id: 'wf_none' }).catch((thrown: unknown) => thrown as ResponseError)
if (!('response' in failure)) throw new Error('no error')
const { error } = ApiErrorFromJSON(await failure.response.json())
${PRINT}`,
  },
}

/** Imports stand first; then what the user of the client is given. */
function written(use: string): string {
  const lines = use.split('\n')
  const imports = lines.filter((line) => line.startsWith('import '))
  return [
    ...imports,
    'declare const process: { argv: string[] }',
    'const [url, token, text] = process.argv.slice(2) as [string, string, string]',
    'const workflow = JSON.parse(text)',
    "const params = { name: 'Ada' }",
    ...lines.filter((line) => !line.startsWith('import ')),
    'export {}',
  ].join('\n')
}

const COMPILER = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'esnext', '--moduleResolution', 'bundler']
const LIBRARIES = ['--target', 'es2022', '--lib', 'es2022,dom,dom.iterable']

/** Compiles a program and gives what runs it. */
async function compiled(folder: string, use: string): Promise<(given: readonly string[]) => Promise<string>> {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  writeFileSync(join(folder, 'use.ts'), written(use))
  await run(process.execPath, [tsc, ...COMPILER, ...LIBRARIES, 'use.ts'], folder)
  const entryPoints = [join(folder, 'use.ts')]
  await build({ entryPoints, bundle: true, format: 'esm', platform: 'node', outfile: join(folder, 'use.mjs') })
  return (given) => run(process.execPath, ['use.mjs', ...given], folder)
}

describe('a client generated by', () => {
  for (const [name, { tools, program = process.execPath, command, use }] of Object.entries(GENERATORS)) {
    for (const document of DOCUMENTS) {
      test(`${name} from ${document} compiles and uses the service`, async (context) => {
        const installed = await tools(context)
        if (installed === null) return
        const folder = mkdtempSync(join(place, 'client-'))
        symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
        await run(program, command(installed, join(PUBLISHED, document), join(folder, 'client')), folder)
        await usesService(await compiled(folder, use))
      })
    }
  }
})
