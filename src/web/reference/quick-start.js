// The quick start: runs the smallest bundled example on this server, and shows the same as a command to copy.
import { element } from './dom.js'
import { json } from './json.js'

const ADDRESS = new URL('api/workflows/greeting/run', document.baseURI).href
const BODY = JSON.stringify({ params: { name: 'Ada' } })

/** What helps against a refusal, by status. @type {Record<number, string>} */
const ADVICE = {
  401: 'Enter a token, and run it again.',
  403: 'Enter a token with the scope “write”, and run it again.',
  429: 'The server is busy. Wait a little, and run it again.',
}
const OTHER_ADVICE = 'Run it again in a moment. If that does not help, the log of the server says more.'

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id))
const runButton = /** @type {HTMLButtonElement} */ (byId('run'))
const token = /** @type {HTMLInputElement} */ (byId('token'))

export function startQuickStart() {
  showCommand()
  byId('run-form').addEventListener('submit', run)
  byId('copy').addEventListener('click', copy)
}

/** @param {Event} event */
async function run(event) {
  event.preventDefault()
  runButton.disabled = true
  showResult('Running', '…')
  await send().catch((error) => showResult('No answer:', `${error.message}. ${OTHER_ADVICE}`))
  runButton.disabled = false
}

async function send() {
  /** @type {Record<string, string>} */
  const headers = { 'Content-Type': 'application/json' }
  if (token.value !== '') headers.Authorization = `Bearer ${token.value.trim()}`
  const response = await fetch(ADDRESS, { method: 'POST', headers, body: BODY })
  // A proxy may answer with something else than JSON.
  const { status, outputs, error } = await response.json().catch(() => ({ error: response.statusText }))
  const message = error?.message ?? error
  if (!response.ok) showRefusal(response.status, message)
  else if (message) showResult(status, message)
  else showResult(status, 'with the outputs', outputs)
}

/** @param {number} status @param {string} message */
function showRefusal(status, message) {
  if (status === 401 || status === 403) {
    byId('token-field').hidden = false
    showCommand()
  }
  showResult(`${status}`, `${message.replace(/[^.]$/, '$&.')} ${ADVICE[status] ?? OTHER_ADVICE}`)
}

/** @param {string} status @param {string} text @param {unknown} [outputs] */
function showResult(status, text, outputs) {
  const line = element('p', {}, element('strong', { 'data-status': status }, status), ' ', text)
  byId('result').replaceChildren(line, ...(outputs === undefined ? [] : [json(outputs)]))
}

function showCommand() {
  const authorization = byId('token-field').hidden ? '' : ` \\\n  -H "Authorization: Bearer $TOKEN"`
  byId('command').textContent =
    `curl -s ${ADDRESS} \\\n  -H 'Content-Type: application/json'${authorization} \\\n  -d '${BODY}'`
}

async function copy() {
  const command = byId('command')
  try {
    await navigator.clipboard.writeText(command.textContent ?? '')
    byId('copy').textContent = 'Copied'
  } catch {
    // Without TLS a page may not write to the clipboard: the reader copies what is selected.
    getSelection()?.selectAllChildren(command)
    byId('copy').textContent = 'Selected'
  }
}
