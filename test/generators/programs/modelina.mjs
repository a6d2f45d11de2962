// Makes the types of a document with Modelina: `node modelina.mjs LANGUAGE DOCUMENT FOLDER`, beside where it is installed.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const modelina = createRequire(join(process.cwd(), 'any.js'))('@asyncapi/modelina')
const [language, document, folder] = process.argv.slice(2)
// Members that a schema does not name are allowed everywhere; with a place for them in each type, Python takes the members of others for such.
const processorOptions = { jsonSchema: { ignoreAdditionalProperties: true } }
const json = { preset: modelina.GO_COMMON_PRESET, options: { addJsonTag: true } }
const shape = { modelType: 'interface', enumType: 'union', mapType: 'record', rawPropertyNames: true }

const GENERATORS = {
  typescript: () => [new modelina.TypeScriptFileGenerator({ ...shape, processorOptions }), { exportType: 'named' }],
  go: () => [new modelina.GoFileGenerator({ presets: [json], processorOptions }), { packageName: 'models' }],
  python: () => [
    new modelina.PythonFileGenerator({ presets: [modelina.PYTHON_PYDANTIC_PRESET], processorOptions }),
    { packageName: 'models' },
  ],
}

const [generator, options] = GENERATORS[language]()
const models = await generator.generateToFiles(JSON.parse(readFileSync(document, 'utf8')), folder, options)
console.log(models.map(({ modelName }) => modelName).join('\n'))
