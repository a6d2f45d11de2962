// A driver as a process: it does the task of its environment with the second client, broken as its arguments say.
import type { ClientTask } from '../../../src/conformance/client/tasks.ts'
import { secondDriver } from './second-client/driver.ts'
import type { Flaw } from './second-client/flaws.ts'

const { SVC_URL = '', SVC_TOKEN = '', SVC_SCENARIO = '', SVC_TASK = '' } = process.env
const task = JSON.parse(SVC_TASK) as ClientTask
const drive = secondDriver('socket', ...(process.argv.slice(2) as Flaw[]))
const { signal } = new AbortController()
console.log(await drive({ url: SVC_URL, token: SVC_TOKEN, scenario: SVC_SCENARIO, task, signal }))
process.exit(0)
