import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { seccompFilter } from '../../src/sandbox/local/seccomp.ts'

interface Call {
  number: number
  audit: number
  words?: readonly bigint[]
}

/** What the kernel would make of a call: `allow`, or the error it is refused with. */
function judge(program: Buffer, { number, audit, words = [] }: Call): 'allow' | number {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(number, 0)
  data.writeUInt32LE(audit, 4)
  for (const [index, word] of words.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, word), 16 + index * 8)
  const length = program.length / 8
  let held = 0
  for (let at = 0, steps = 0; ; at++, steps++) {
    assert.ok(at < length && steps < length, 'the program has no end')
    const code = program.readUInt16LE(at * 8)
    const [yes, no] = [program.readUInt8(at * 8 + 2), program.readUInt8(at * 8 + 3)]
    const operand = program.readUInt32LE(at * 8 + 4)
    if (code === 0x20) held = data.readUInt32LE(operand)
    else if (code === 0x15) at += held === operand ? yes : no
    else if (code === 0x35) at += held >= operand ? yes : no
    else if (code === 0x45) at += (held & operand) !== 0 ? yes : no
    else if (code === 0x06 && operand === 0x7fff0000) return 'allow'
    else if (code === 0x06 && operand >>> 16 === 5) return operand & 0xffff
    else assert.fail(`instruction ${at} is ${code.toString(16)} ${operand.toString(16)}`)
  }
}

const EPERM = 1
const ENOSYS = 38

/** Names and numbers as the kernel's headers have them, apart from those of the filter. */
// biome-ignore format: a table to be read as words
const REFUSED: Record<string, [x64: number | undefined, arm64: number | undefined]> = {
  unshare: [272, 97], setns: [308, 268], mount: [165, 40], umount2: [166, 39], pivot_root: [155, 41], chroot: [161, 51],
  fsopen: [430, 430], fsconfig: [431, 431], fsmount: [432, 432], move_mount: [429, 429], open_tree: [428, 428],
  mount_setattr: [442, 442], bpf: [321, 280], perf_event_open: [298, 241], userfaultfd: [323, 282], keyctl: [250, 219],
  add_key: [248, 217], request_key: [249, 218], kexec_load: [246, 104], kexec_file_load: [320, 294], init_module: [175, 105],
  finit_module: [313, 273], delete_module: [176, 106], open_by_handle_at: [304, 265], reboot: [169, 142], swapon: [167, 224],
  swapoff: [168, 225], acct: [163, 89], quotactl: [179, 60], settimeofday: [164, 170], clock_settime: [227, 112],
  adjtimex: [159, 171], clock_adjtime: [305, 266], syslog: [103, 116], iopl: [172, undefined], ioperm: [173, undefined],
  modify_ldt: [154, undefined],
}
const ABSENT = { clone3: 435, io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 }
const NAMESPACES = {
  mount: 0x20000,
  cgroup: 0x2000000,
  uts: 0x4000000,
  ipc: 0x8000000,
  user: 0x10000000,
  pid: 0x20000000,
  net: 0x40000000,
}
const MACHINES = {
  x64: { audit: 0xc000003e, other: [0x40000003, 0xc00000b7, 0x40000028, 0], column: 0, clone: 56, ioctl: 16 },
  arm64: { audit: 0xc00000b7, other: [0x40000028, 0xc000003e, 0x40000003, 0], column: 1, clone: 220, ioctl: 29 },
} as const

for (const [architecture, { audit, other, column, clone, ioctl }] of Object.entries(MACHINES))
  describe(`T-44: the kernel’s filter for ${architecture}`, () => {
    const program = seccompFilter(architecture)!
    const ask = (number: number, ...words: bigint[]) => judge(program, { number, audit, words })
    const refused = Object.entries(REFUSED).flatMap(([name, numbers]) =>
      numbers[column] === undefined ? [] : [[name, numbers[column]] as const],
    )

    test('what no program under development needs is forbidden, and what libraries can do without is not there', () => {
      for (const [name, number] of refused) assert.equal(ask(number), EPERM, name)
      for (const [name, number] of Object.entries(ABSENT)) assert.equal(ask(number), ENOSYS, name)
    })

    test('a process can be forked and a thread begun, in no new namespace', () => {
      for (const flags of [17n, 0x3d0f00n, 0x4111n, 0x1200011n]) assert.equal(ask(clone, flags), 'allow', `${flags}`)
      for (const [name, flag] of Object.entries(NAMESPACES)) {
        assert.equal(ask(clone, BigInt(flag)), EPERM, name)
        assert.equal(ask(clone, BigInt(flag) | 17n), EPERM, name)
        assert.equal(ask(clone, BigInt(flag) | 0x3d0f00n), EPERM, name)
      }
    })

    test('nobody types into another’s terminal, whatever stands above the lower half of the request', () => {
      for (const request of [0x5412n, 0x541cn])
        for (const above of [0n, 1n << 32n, 0xffffffffn << 32n]) assert.equal(ask(ioctl, 1n, request | above), EPERM)
      for (const request of [0x5401n, 0x5413n, 0x5414n, 0x540en, 0x541bn])
        assert.equal(ask(ioctl, 1n, request), 'allow')
    })

    test('every other call is allowed, whatever its words are', () => {
      const known = new Set<number>([...refused.map(([, number]) => number), ...Object.values(ABSENT), clone, ioctl])
      for (let number = 0; number < 1_000; number++)
        if (!known.has(number))
          for (const word of [0n, 0x5412n, 0x10000000n, 0xffffffffffffffffn])
            assert.equal(ask(number, word, word, word), 'allow', `${number}`)
    })

    test('calls of another architecture, and the numbers that are there twice, are refused whole', () => {
      for (const audit of other)
        for (const number of [0, 1, 59, 120, 165, 221, 310]) assert.equal(judge(program, { number, audit }), EPERM)
      if (architecture === 'x64')
        for (const number of [0, 1, 56, 165, 272, 520, 547]) assert.equal(ask(0x40000000 + number), EPERM)
    })
  })

test('T-44: a machine that the filter does not know gets none', () => {
  for (const architecture of ['ia32', 'riscv64']) assert.equal(seccompFilter(architecture), undefined, architecture)
})
