import HeadracePlatform

/// nginx with its own configuration, writing only inside the workspace.
enum NginxServer {
    static func start(_ executable: String, isTLSWanted: Bool, in workspace: Workspace) throws -> OriginServer {
        var blocker: String?
        var certificate: Certificate?
        if isTLSWanted {
            do { certificate = try Certificate.make(in: workspace) } catch let error as BenchmarkError
                where error.status < 128
            {
                blocker = error.message
            }
        }
        let httpPort = try Loopback.freePort()
        let tlsPort = certificate == nil ? nil : try Loopback.freePort()
        let configuration = workspace.scratch + "/nginx.conf"
        var listeners = [Listener(address: Loopback.address, port: httpPort)]
        if let tlsPort {
            listeners.append(Listener(address: Loopback.address, port: tlsPort, certificate: certificate))
        }
        try FileSystem.write(Self.configuration(listeners, in: workspace), to: configuration)
        let log = workspace.scratch + "/nginx.log"
        let version = Version.of(executable, flag: "-v", in: workspace).replacing("nginx version: ", with: "")
        let process = try ChildProcess.spawn(
            Command(executable: executable, arguments: ["-p", workspace.scratch, "-c", configuration]),
            home: workspace.home,
            log: log
        )
        for port in [httpPort, tlsPort].compactMap(\.self) {
            try OriginServer.awaitPort(port, of: process, log: log)
        }
        return OriginServer(
            description: version,
            process: process,
            httpPort: httpPort,
            tlsPort: tlsPort,
            authority: certificate?.authority,
            tlsObstacle: blocker
        )
    }

    /// A port on which nginx listens, with TLS if there is a certificate.
    struct Listener {
        let address: String
        let port: UInt16
        var certificate: Certificate?
        /// Whether clients may choose HTTP/2.
        var isHTTP2 = false
    }

    /// Configures one process without a master: the signal that stops it stops everything, and as root it does not
    /// change its user, so it can read the workspace.
    static func configuration(_ listeners: [Listener], in workspace: Workspace) -> String {
        let scratch = workspace.scratch
        let servers = listeners.map { listener in
            let protocols = (listener.certificate == nil ? "" : " ssl") + (listener.isHTTP2 ? " http2" : "")
            let encryption = listener.certificate.map {
                "ssl_certificate \"\($0.chain)\"; ssl_certificate_key \"\($0.key)\";"
            }
            return """
                    server {
                        listen \(listener.address):\(listener.port)\(protocols);
                        root "\(workspace.site)";
                        \(encryption ?? "")
                    }
                """
        }
        return """
            daemon off;
            master_process off;
            worker_processes 1;
            pid "\(scratch)/nginx.pid";
            error_log stderr warn;
            events { worker_connections 1024; }
            http {
                access_log off;
                sendfile on;
                tcp_nopush on;
                keepalive_requests 1000000;
                default_type application/octet-stream;
                client_body_temp_path "\(scratch)/body";
                proxy_temp_path "\(scratch)/proxy";
                fastcgi_temp_path "\(scratch)/fastcgi";
                uwsgi_temp_path "\(scratch)/uwsgi";
                scgi_temp_path "\(scratch)/scgi";
            \(servers.joined(separator: "\n"))
            }

            """
    }
}
