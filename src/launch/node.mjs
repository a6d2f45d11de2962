#!/usr/bin/env node
// Runs its arguments with a supported Node: `node src/launch/node.mjs FILE ARGS…`. It passes on signals and the exit code, so it can
// replace `node`. Where it is killed itself, the closed channel tells its child.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { whenAbandoned } from './above.mjs'
import { COMPILE_CACHE, pickNode } from './pick.mjs'

/** Runs `args` with the selected Node, and ends this process as the child ended. */
export function runNode(args) {
  const picked = pickNode({
    version: process.versions.node,
    execPath: process.execPath,
    platform: process.platform,
    arch: process.arch,
  })
  if ('missing' in picked) {
    console.error(`svc: ${picked.missing}`)
    process.exit(1)
  }
  const child = spawn(picked.path, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env, SVC_LAUNCHED: '1' },
  })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  whenAbandoned(() => child.kill('SIGTERM'))
  child.on('error', (error) => {
    console.error(`svc: ${picked.path} could not be started: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
}

if (process.argv[1]?.endsWith('node.mjs')) runNode(process.argv.slice(2))
