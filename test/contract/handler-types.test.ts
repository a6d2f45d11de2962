// A missing, extra or mistyped handler does not compile: small sources before the real compiler.
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '../..')
const IMPORTS = `
import type { HandlerTable, HealthHandlers, ImplementedOperationId, OperationHandler, OperationReply, OperationRequest } from '../../generated/operations.ts'
import type { WsCommandHandlers, WsFrame, WsRpcCommand } from '../../generated/messages.ts'
import { errorCatalogue, type ErrorCode } from '../../generated/errors.ts'
`
const BODY = `{ status: 'healthy', timestamp: '2026-01-15T09:30:00.000Z', uptime: 1, services: { database: 'healthy', server: 'healthy' } }`
const METRICS = `getMetrics: () => ({ status: 200, content_type: 'text/plain', body: '' })`
const READY = `${METRICS}, getReady: () => ({ status: 200, body: { status: 'ok' } })`
const API = `getApiHealth: async (_, context) => ({ status: 200, body: { version: context.version, uptime: 1 }, headers: { 'Retry-After': 1 } })`
const HEALTH = `getHealth: () => ({ status: 503, body: ${BODY} })`

/** Each source, and what the compiler's one error in it says; none where it must compile. */
const SOURCES: Readonly<Record<string, readonly [source: string, error?: RegExp]>> = {
  'a whole table of a tag': [`export const health: HealthHandlers<Context> = { ${HEALTH}, ${API}, ${READY} }`],
  'a missing handler': [
    `export const health: HealthHandlers<Context> = { ${HEALTH}, ${API}, ${METRICS} }`,
    /is missing in type/,
  ],
  'an extra handler': [
    `export const health: HealthHandlers<Context> = { ${HEALTH}, ${API}, ${READY}, getWeather: () => ({ status: 200 }) }`,
    /may only specify known properties/,
  ],
  'a planned operation': [`export const id: ImplementedOperationId = 'createResponse'`, /is not assignable to type/],
  'a missing tag': [
    `export const table = {} satisfies Partial<HandlerTable<Context>>\nexport const all: HandlerTable<Context> = table`,
    /is missing the following properties/,
  ],
  'an undeclared status': [
    `export const reply: OperationReply<'getReady'> = { status: 201, body: { status: 'ok' } }`,
    /is not assignable to type/,
  ],
  'a thrown status': [
    `export const reply: OperationReply<'getWorkflow'> = { status: 404 }`,
    /is not assignable to type/,
  ],
  'a mistyped body': [
    `export const reply: OperationReply<'getReady'> = { status: 200, body: { status: 'fine' } }`,
    /is not assignable to type/,
  ],
  'a missing body': [`export const reply: OperationReply<'getReady'> = { status: 200 }`, /'body' is missing in type/],
  'a body where there is none': [
    `export const reply: OperationReply<'deleteWorkflow'> = { status: 204, body: {} }`,
    /is not assignable to type/,
  ],
  'no body where there is none': [`export const reply: OperationReply<'deleteWorkflow'> = { status: 204 }`],
  'an undeclared content type': [
    `export const reply: OperationReply<'getReference'> = { status: 200, content_type: 'text/plain', body: '' }`,
    /is not assignable to type/,
  ],
  'a stream': [
    `async function* events() { yield 'data: 1' }
export const reply: OperationReply<'followJobEvents'> = { status: 200, content_type: 'text/event-stream', body: events() }`,
  ],
  'a use of what the request holds': [
    `export const update: OperationHandler<'updateWorkflow', Context> = ({ path, headers, body }) => {
  const texts: [string, string, string | null | undefined] = [path.id, body.name, headers['if-match']]
  throw new Error(texts.join())
}`,
  ],
  'a use of an undeclared parameter': [
    `export const id = ({ query }: OperationRequest<'getWorkflow'>) => query.depth`,
    /does not exist on type/,
  ],
  'a header that is not in lower case': [
    `export const tag = ({ headers }: OperationRequest<'updateWorkflow'>) => headers['If-Match']`,
    /'If-Match' does not exist on type/,
  ],
  'missing commands': [`export const commands: WsCommandHandlers<Context> = {}`, /is missing the following properties/],
  'the handlers of a socket whose commands are planned': [
    `export type Planned = import('../../generated/messages.ts').AgentCommandHandlers<Context>`,
    /has no exported member/,
  ],
  'a mistyped result of an RPC': [
    `export const read: WsCommandHandlers<Context>['get_workflow'] = (data) => ({ id: data.id })`,
    /is not assignable to type/,
  ],
  'an RPC that reads what its data has not': [
    `export const read: Partial<WsCommandHandlers<Context>> = { get_workflow: (data) => { throw new Error(data.name) } }`,
    /does not exist on type/,
  ],
  'commands that are well typed': [
    `export const commands: Partial<WsCommandHandlers<Context>> = {
  ping() {},
  run_job: async ({ data, request_id }) => console.log(data.job_id, request_id),
}
export const rpc: WsRpcCommand = 'list_workflows'`,
  ],
  'a frame that is declared': [`export const frame: WsFrame = { type: 'ping', ts: 1 }`],
  'a frame that is not declared': [`export const frame: WsFrame = { type: 'surprise' }`, /is not assignable to type/],
  'an error of the catalogue': [`export const status: 404 = errorCatalogue.JOB_NOT_FOUND.status`],
  'an unknown error': [`export const code: ErrorCode = 'OUT_OF_TEA'`, /is not assignable to type/],
}

/** The compiler's errors by source, found in one program that reads the generated types from disk. */
function compile(): Map<string, string[]> {
  const { config } = ts.readConfigFile(resolve(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root)
  const host = ts.createCompilerHost({ ...options, incremental: false })
  const files = new Map(Object.entries(SOURCES).map(([name, [source]], index) => [fileOf(index), { name, source }]))
  const { fileExists, getSourceFile } = host
  host.fileExists = (file) => files.has(file) || fileExists(file)
  host.getSourceFile = (file, ...rest) => {
    const text = files.get(file)
    if (!text) return getSourceFile(file, ...rest)
    const context = 'export interface Context { version: string }\n'
    return ts.createSourceFile(file, IMPORTS + context + text.source, ts.ScriptTarget.ES2023)
  }
  const settings = { ...options, incremental: false, noUnusedLocals: false, tsBuildInfoFile: undefined }
  const program = ts.createProgram([...files.keys()], settings, host)
  return new Map(
    [...files].map(([file, { name }]) => {
      const source = program.getSourceFile(file)!
      const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
      return [name, found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))]
    }),
  )
}

function fileOf(index: number): string {
  return `${root}/test/contract/source-${index}.ts`
}

describe('the compiler', () => {
  const found = compile()
  for (const [name, [, error]] of Object.entries(SOURCES)) {
    test(`${error ? 'refuses' : 'takes'} ${name}`, () => {
      const errors = found.get(name)!
      assert.equal(errors.length, error ? 1 : 0, errors.join('\n'))
      if (error) assert.match(errors[0]!, error)
    })
  }
})
