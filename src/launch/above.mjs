// Notices the end of make or npm above this process. A killed make or npm passes on no signal, and its children would keep their port and
// folder. Another starter, such as systemd, docker or a shell, may leave this process running.
import { readFileSync, readlinkSync } from 'node:fs'

/** The interval between checks, in milliseconds. */
const LOOK_MS = 1_000
const RUNNER = /^(?:g?make$|np[mx]\b|pnpm\b|yarn\b)/
const SHELL = /^(?:ba|da|a|z)?sh$/

/** Calls `run` once, when make or npm, or the shell between them and this process, has ended. It works only on Linux. */
export function whenAbandoned(run) {
  const above = runnerAbove()
  if (above.length === 0) return
  const timer = setInterval(() => {
    if (isStillAbove(above)) return
    clearInterval(timer)
    run()
  }, LOOK_MS)
  timer.unref()
}

/** The ids of the processes from the parent up to make or npm. Empty where neither started this process. */
function runnerAbove() {
  const parent = process.ppid
  const name = nameOf(parent)
  if (RUNNER.test(name)) return [parent]
  // `sh -c COMMAND` ends before a command that it starts in the background. The command's standard input is empty then.
  if (!SHELL.test(name) || !isCommandShell(parent) || !hasInput()) return []
  const above = parentOf(parent)
  return above !== null && RUNNER.test(nameOf(above)) ? [parent, above] : []
}

function isStillAbove([parent, above]) {
  return process.ppid === parent && (above === undefined || parentOf(parent) === above)
}

function nameOf(pid) {
  return read(pid, 'comm').trimEnd()
}

function isCommandShell(pid) {
  return read(pid, 'cmdline').split('\0')[1] === '-c'
}

function hasInput() {
  try {
    return readlinkSync('/proc/self/fd/0') !== '/dev/null'
  } catch {
    return false
  }
}

/** The parent of a process; null where the process has ended. The process name in the text may hold spaces and brackets. */
function parentOf(pid) {
  const text = read(pid, 'stat')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields.length < 2 || fields[0] === 'Z' ? null : Number(fields[1])
}

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
