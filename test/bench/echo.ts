// The reference for runs: a minimal Express server that parses JSON and returns it. It runs as a separate process.
import type { AddressInfo } from 'node:net'
import express from 'express'

const app = express()
app.use(express.json())
app.post('/echo', (request, response) => {
  response.json(request.body)
})
const server = app.listen(0, '127.0.0.1', () => {
  console.log(`listens on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
