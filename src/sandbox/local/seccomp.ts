/**
 * A filter for the kernel: what no program under development needs and what holes are made of. Refused calls look as if the kernel
 * had not got them (ENOSYS) where libraries know another way, and as forbidden (EPERM) elsewhere. Programs of another architecture
 * than the server's, 32-bit ones too, are refused all of it: their numbers mean other calls.
 */
export function seccompFilter(architecture: string): Buffer | undefined {
  const machine = MACHINES[architecture]
  if (!machine) return undefined
  const program: Instruction[] = []
  const refuse = (error: number): Instruction => [RETURN, 0, 0, 0x00050000 | error]
  program.push([LOAD, 0, 0, 4], [JUMP_EQUAL, 1, 0, machine.audit], refuse(EPERM), [LOAD, 0, 0, 0])
  // The x32 numbers of an x86-64 kernel would slip past all that follows.
  if (architecture === 'x64') program.push([JUMP_AT_LEAST, 0, 1, 0x40000000], refuse(EPERM))
  for (const call of machine.absent) program.push([JUMP_EQUAL, 0, 1, call], refuse(ENOSYS))
  for (const call of machine.forbidden) program.push([JUMP_EQUAL, 0, 1, call], refuse(EPERM))
  // clone(flags, …): no new namespaces.
  program.push([JUMP_EQUAL, 0, 3, machine.clone], [LOAD, 0, 0, 16], [JUMP_ANY_BIT, 0, 1, NEW_NAMESPACES], refuse(EPERM))
  // The flags were loaded over the number.
  program.push([LOAD, 0, 0, 0])
  // ioctl(fd, request, …): TIOCSTI and TIOCLINUX type into somebody else's terminal.
  program.push([JUMP_EQUAL, 0, 5, machine.ioctl], [LOAD, 0, 0, 24])
  program.push([JUMP_EQUAL, 1, 0, 0x5412], [JUMP_EQUAL, 0, 1, 0x541c], refuse(EPERM), [LOAD, 0, 0, 0])
  program.push([RETURN, 0, 0, 0x7fff0000])
  return encode(program)
}

/** Code, steps when true, steps when false, operand. */
type Instruction = [number, number, number, number]

const LOAD = 0x20
const JUMP_EQUAL = 0x15
const JUMP_AT_LEAST = 0x35
const JUMP_ANY_BIT = 0x45
const RETURN = 0x06
const EPERM = 1
const ENOSYS = 38
/** User, mount, process, network, ipc, uts, cgroup and time namespaces. */
const NEW_NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000 | 0x80

interface Machine {
  audit: number
  clone: number
  ioctl: number
  absent: number[]
  forbidden: number[]
}

/**
 * Absent: clone3 (its flags cannot be looked at; libraries fall back to clone), io_uring_setup, _enter, _register.
 * Forbidden, in this order: unshare, setns, mount, umount2, pivot_root, chroot, fsopen, fsconfig, fsmount, move_mount, open_tree,
 * mount_setattr, bpf, perf_event_open, userfaultfd, keyctl, add_key, request_key, kexec_load, kexec_file_load, init_module,
 * finit_module, delete_module, open_by_handle_at, reboot, swapon, swapoff, acct, quotactl, settimeofday, clock_settime, adjtimex,
 * clock_adjtime, syslog, and on x86-64 iopl, ioperm, modify_ldt.
 */
const MACHINES: Record<string, Machine> = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    ioctl: 16,
    absent: [435, 425, 426, 427],
    // biome-ignore format: in the order named above
    forbidden: [
      272, 308, 165, 166, 155, 161, 430, 431, 432, 429, 428, 442, 321, 298, 323, 250, 248, 249, 246, 320, 175, 313, 176, 304,
      169, 167, 168, 163, 179, 164, 227, 159, 305, 103, 172, 173, 154,
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    ioctl: 29,
    absent: [435, 425, 426, 427],
    // biome-ignore format: in the order named above
    forbidden: [
      97, 268, 40, 39, 41, 51, 430, 431, 432, 429, 428, 442, 280, 241, 282, 219, 217, 218, 104, 294, 105, 273, 106, 265,
      142, 224, 225, 89, 60, 170, 112, 171, 266, 116,
    ],
  },
}

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, [code, yes, no, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(yes, index * 8 + 2)
    bytes.writeUInt8(no, index * 8 + 3)
    bytes.writeUInt32LE(operand >>> 0, index * 8 + 4)
  }
  return bytes
}
