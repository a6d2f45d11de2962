// Compiles schemas into one self-contained ES module of validators: ajv's standalone code, bundled with the parts of ajv that it calls.
import ajvStandalone from 'ajv/dist/standalone/index.js'
import { build, type Plugin } from 'esbuild'
import { createAjv } from '../documents/ajv-setup.ts'
import { isMap, type Json, type JsonMap, readSchemaName } from '../documents/json-pointer.ts'
import { walkSchema } from '../documents/schema-walk.ts'
import { limitValidatorErrors } from './validator-error-limits.ts'

const standaloneCode = ajvStandalone.default

export interface ValidatorModule {
  /** Schemas by the export name of their validator. */
  schemas: Readonly<Record<string, Json>>
  /** Whether texts become numbers and booleans where the schema requires these, as in parameters. */
  coerce: boolean
  /** Whether defaults are filled in. */
  defaults: boolean
}

type NamedSchemas = readonly (readonly [id: string, schema: Json])[]

const COMPONENT_PREFIX = 'schema:'

/** A referenced schema with fewer keywords is inlined instead of called. */
const INLINE_UP_TO = 4

/**
 * Returns the source of an ES module: `entry`, which may import `modules` as
 * `virtual:NAME`. Component schemas are compiled only where the modules refer to them.
 */
export async function compileValidators(
  entry: string,
  modules: Readonly<Record<string, ValidatorModule>>,
  components: JsonMap,
): Promise<string> {
  const lean = Object.entries(components).map(
    ([name, schema]) => [COMPONENT_PREFIX + name, prepareSchema(schema)] as const,
  )
  const sources = Object.fromEntries(
    Object.entries(modules).map(([name, module]) => [name, generateModuleSource(module, lean)]),
  )
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    minify: true,
    charset: 'utf8',
    lineLimit: 160,
    legalComments: 'none',
    plugins: [createVirtualModulesPlugin(sources)],
  })
  return outputFiles[0]!.text
}

function generateModuleSource({ schemas, coerce, defaults }: ValidatorModule, components: NamedSchemas): string {
  const ajv = createAjv({
    // The contract was checked in strict mode. Strict mode would refuse defaults inside variants here.
    strict: false,
    coerceTypes: coerce,
    useDefaults: defaults,
    inlineRefs: INLINE_UP_TO,
    code: { source: true, esm: true, lines: false },
  })
  limitValidatorErrors(ajv)
  for (const [id, schema] of components) ajv.addSchema(schema as object, id)
  const exported: Record<string, string> = {}
  for (const [name, schema] of Object.entries(schemas)) {
    const id = `export:${name}`
    ajv.addSchema(prepareSchema(schema) as object, id)
    exported[name] = id
  }
  return replaceRequires(standaloneCode(ajv, exported))
}

/**
 * Even the ESM output of ajv calls `require`. As imports, these calls keep all functions at the top level of one module, where the engine
 * only pre-parses them. Inside CommonJS wrappers it parses them twice, which more than doubles the load time.
 */
function replaceRequires(code: string): string {
  const modules = new Map<string, string>()
  const body = code.replace(/\brequire\(("[^"]+")\)/g, (_, path: string) => {
    const name = modules.get(path) ?? `imported${modules.size}`
    modules.set(path, name)
    return name
  })
  return [...modules].map(([path, name]) => `import * as ${name} from ${path}\n`).join('') + body
}

function createVirtualModulesPlugin(sources: Readonly<Record<string, string>>): Plugin {
  return {
    name: 'virtual-modules',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^virtual:/ }, ({ path }) => ({ path: path.slice('virtual:'.length), namespace: 'virtual' }))
      onLoad({ filter: /.*/, namespace: 'virtual' }, ({ path }) => ({
        contents: sources[path]!,
        loader: 'js',
        resolveDir: import.meta.dirname,
      }))
    },
  }
}

const DOCUMENTATION_KEYWORDS = ['description', 'title', 'examples', 'deprecated', 'contentEncoding', 'contentMediaType']

/** Makes references absolute, and removes keywords that no validator reads, because ajv copies whole schemas into its code. */
function prepareSchema(schema: Json): Json {
  const copy = structuredClone(schema)
  walkSchema(copy, '', (part) => {
    if (!isMap(part)) return
    for (const key of DOCUMENTATION_KEYWORDS) delete part[key]
    const name = readSchemaName(part)
    if (name !== null) part.$ref = COMPONENT_PREFIX + name
  })
  return copy
}
