import { DockerBackend } from '../../src/sandbox/docker.ts'
import { DockerEngine, IMAGE, NO_DOCKER } from '../support/docker.ts'
import { type Arena, sandboxContract } from './sandbox.ts'

async function open(): Promise<Arena> {
  const docker = await DockerEngine.start()
  const make = () => new DockerBackend({ socketPath: docker.socketPath, owner: 'test' })
  const backend = make()
  return {
    backend,
    capabilities: { command: true, limits: true, isolated: true },
    order: { image: IMAGE },
    reopen: async () => make(),
    [Symbol.asyncDispose]: async () => {
      await backend.close()
      await docker[Symbol.asyncDispose]()
    },
  }
}

sandboxContract('DockerBackend', open, NO_DOCKER)
